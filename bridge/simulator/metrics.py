"""Sizes on the screen, all derived from a recording of 1080 pixels width."""

from dataclasses import dataclass

from bridge.simulator.layout import Box

FRAME = "android.widget.FrameLayout"
LINEAR = "android.widget.LinearLayout"
GROUP = "android.view.ViewGroup"
TEXT = "android.widget.TextView"
IMAGE = "android.widget.ImageView"
IMAGE_BUTTON = "android.widget.ImageButton"
BUTTON = "android.widget.Button"
EDIT = "android.widget.EditText"
RECYCLER = "androidx.recyclerview.widget.RecyclerView"
LIST = "android.widget.ListView"


@dataclass(frozen=True, slots=True)
class Metrics:
    """A screen of this size; `font` is the owner's text scale."""

    width: int
    height: int
    font: float = 1.0

    @property
    def k(self) -> float:
        return min(self.width, self.height) / 1080

    def px(self, value: float) -> int:
        return round(value * self.k)

    def text_px(self, value: float) -> int:
        return round(value * self.k * self.font)

    def box(self, left: float, top: float, right: float, bottom: float) -> Box:
        """A box given in the recording's pixels."""
        return Box(self.px(left), self.px(top), self.px(right), self.px(bottom))

    @property
    def screen(self) -> Box:
        return Box(0, 0, self.width, self.height)

    @property
    def top(self) -> int:
        """Below the status bar."""
        return self.px(120)

    @property
    def bottom(self) -> int:
        """Above the gesture bar."""
        return self.height - self.px(72)

    @property
    def right(self) -> float:
        """The right edge in the recording's pixels."""
        return self.width / self.k

    @property
    def down(self) -> float:
        """The bottom edge (above the gesture bar) in the recording's pixels."""
        return self.bottom / self.k

    def columns(self, width: float) -> int:
        """How many characters fit into this many of the recording's pixels."""
        return max(4, int(width / (25 * self.font)))
