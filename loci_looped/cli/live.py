"""A plain window that shows pictures as they come, where there is a screen to show them on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loci_looped.utils.errors import LociError

if TYPE_CHECKING:
    from loci_looped.viz.canvas import Picture

NO_SCREEN = "There is no screen for a live window here ({}). Leave out --live and open index.html afterwards."


class Window:
    """Closing it ends the watching."""

    def __init__(self, title: str):
        try:
            import tkinter
        except ImportError as error:
            raise LociError(NO_SCREEN.format("Python was built without tkinter")) from error
        try:
            self.root = tkinter.Tk()
        except tkinter.TclError as error:
            raise LociError(NO_SCREEN.format(str(error).strip())) from error
        self.root.title(title)
        self.label = tkinter.Label(self.root, borderwidth=0)
        self.label.pack()
        self.photo: Any = None          # Tk forgets a picture that Python does not hold
        self.is_open = True
        self.root.protocol("WM_DELETE_WINDOW", self._close)

    def _close(self) -> None:
        self.is_open = False
        self.root.destroy()

    def show(self, picture: Picture) -> bool:
        """Show a picture; False once the window has been closed."""
        if not self.is_open:
            return False
        import tkinter

        height, width = picture.shape[:2]
        data = b"P6 %d %d 255 " % (width, height) + picture.tobytes()
        self.photo = tkinter.PhotoImage(master=self.root, width=width, height=height, data=data, format="PPM")
        self.label.configure(image=self.photo)
        self.root.update()
        return self.is_open
