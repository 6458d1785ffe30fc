"""What Streamlit runs for every reader, at every rerun: the frame, and in it the page that the address names."""
from core.app.frame import shell

if __name__ == "__main__":      # as Streamlit runs it, and not where a tool imports it
    shell.draw()
