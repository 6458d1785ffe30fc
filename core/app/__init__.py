"""The Streamlit face of the engine: shared prompt, lesson frame, state in the URL, caches.

The only place in core that imports streamlit.
"""
