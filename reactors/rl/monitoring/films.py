"""How does a video come into a folder, picture by picture?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


class Films:
    """Videos in a folder, one for each episode, whose pictures are written as they come."""

    def __init__(self, folder: Path, fps: float) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.fps, self.number = folder, fps, -1
        self.writer: Any = None

    def add(self, number: int, picture: Any) -> None:
        """One more picture, uint8 (height, width, 3), of the episode with this number; episodes come one by one."""
        from moviepy.video.io.ffmpeg_writer import FFMPEG_VideoWriter  # type: ignore[import-untyped]

        if number != self.number:
            self.close()
            height, width, _ = picture.shape
            file = self.folder / f"rl-video-episode-{number}.mp4"
            self.writer, self.number = FFMPEG_VideoWriter(str(file), (width, height), self.fps), number
        self.writer.write_frame(picture)

    def close(self) -> None:
        """End the video that is being written; a second time nothing happens."""
        writer, self.writer = self.writer, None
        if writer is not None:
            writer.close()
