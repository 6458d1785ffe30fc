// The addresses of the places that Python names for a picture of the course.

/** @typedef {{ path: string, set: Record<string, string | null> }} Place */

/** A place of the header's links as an address: what all lessons share, and its own settings over it. */
export function address({ base }, { path, set }) {
  const query = new URLSearchParams(base);
  for (const key of [...query.keys()]) if (key.startsWith("course_")) query.delete(key);
  for (const [name, value] of Object.entries(set)) value === null ? query.delete(name) : query.set(name, value);
  return `./${path}?${query.toString().replaceAll("+", "%20")}`;
}
