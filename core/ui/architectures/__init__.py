"""What the lesson Architectures is made of: a module for each of its views, and what they share."""
