"""Small pictures and controls of hand-written JavaScript and CSS, each beside its Python face."""
