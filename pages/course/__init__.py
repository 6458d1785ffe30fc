"""The course page: its views, and the tables that it is made of."""
