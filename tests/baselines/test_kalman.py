"""The filter goes straight on behind a screen, does not peek, and speaks the protocol."""

import math

import numpy as np
import pytest
import torch

from loci_looped.baselines.kalman import DEFAULT_NOISE, KalmanNoise, KalmanTracker
from loci_looped.baselines.protocol import Slots, VideoModel
from loci_looped.data.clip import Clip, ObjectTruth
from loci_looped.data.coordinates import to_pixels
from loci_looped.evaluation.metrics.mota import count_events
from loci_looped.evaluation.metrics.tracking import Track, summarise, tracking_table
from loci_looped.utils.errors import LociError

SIZE = (48, 72)


def ball_behind_screen(frames: int = 40, speed: float = 1.5, row: float = 30) -> Clip:
    """A ball rolls behind a screen that stands in columns 30 to 44, and comes out on the other side."""
    positions = np.zeros((frames, 2, 2), dtype=np.float32)
    positions[:, 0] = np.stack([np.full(frames, row), 8 + speed * np.arange(frames)], axis=-1)
    positions[:, 1] = (28, 37)
    rows, columns = np.mgrid[: SIZE[0], : SIZE[1]]
    ball = np.hypot(rows - positions[:, 0, 0, None, None], columns - positions[:, 0, 1, None, None]) <= 4
    screen = np.broadcast_to((abs(rows - 28) <= 12) & (abs(columns - 37) <= 7), ball.shape)
    whole = np.stack([ball, screen], axis=1)
    seen = np.stack([ball & ~screen, screen], axis=1)
    depths = np.broadcast_to(np.array([2, 1], np.float32), (frames, 2))
    truth = ObjectTruth(("ball", "screen"), ("mover", "screen"), positions, seen, whole, depths)
    image = np.zeros((frames, *SIZE, 3), dtype=np.uint8)
    return Clip(image, image[0], truth, source="test")


def watch(clips: list[Clip], dark: np.ndarray | None = None, noise: KalmanNoise = DEFAULT_NOISE) -> list[Slots]:
    model = KalmanTracker(clips, noise)
    state = model.initial(torch.zeros(len(clips), 3, *SIZE))
    told = []
    for t in range(max(len(clip) for clip in clips)):
        blackout = None if dark is None else torch.from_numpy(dark[:, t])
        state, slots = model.step(torch.zeros(len(clips), 3, *SIZE), state, blackout=blackout)
        told.append(slots)
    return told


def track(told: list[Slots], element: int = 0) -> Track:
    positions = np.stack([s.positions[element].double().numpy() for s in told])
    return Track(to_pixels(positions, SIZE), np.stack([s.presence[element].numpy() for s in told]),
                 np.stack([s.hidden[element].numpy() for s in told]))


def test_it_speaks_the_protocol() -> None:
    assert isinstance(KalmanTracker([ball_behind_screen()]), VideoModel)
    assert not isinstance(object(), VideoModel)


def test_it_follows_the_ball_behind_the_screen() -> None:
    clip = ball_behind_screen()
    assert clip.truth is not None
    hidden = ~clip.truth.visible_masks[:, 0].any(axis=(1, 2))
    assert hidden.sum() >= 4
    told = watch([clip])
    assert [bool(s.hidden[0, 0]) for s in told] == hidden.tolist()
    table = tracking_table(track(told), clip.truth)
    summary = summarise([table])
    assert summary.visible.mean < 0.01 and summary.occluded.mean < 0.01
    assert (summary.tried, summary.succeeded) == (1, 1)
    assert count_events(track(told), clip.truth).mota == 1


def test_trusting_half_hidden_centroids_would_slow_it_down() -> None:
    """Why the noise grows with the hidden share: the visible half's centre lags behind when the ball goes in."""
    clip = ball_behind_screen()
    assert clip.truth is not None
    cautious = summarise([tracking_table(track(watch([clip])), clip.truth)]).occluded.mean
    model = KalmanTracker([clip])
    model.areas = (model.areas > 0).double()                        # as if nothing were ever half hidden
    state = model.initial(torch.zeros(1, 3, *SIZE))
    told = []
    for _ in range(len(clip)):
        state, slots = model.step(torch.zeros(1, 3, *SIZE), state)
        told.append(slots)
    assert summarise([tracking_table(track(told), clip.truth)]).occluded.mean > 1.5 * cautious


def test_it_does_not_peek_while_dark_or_imagining() -> None:
    clip = ball_behind_screen()
    dark = np.zeros((1, 40), bool)
    dark[0, 8:] = True
    moved = ball_behind_screen(row=12)
    assert clip.truth is not None and moved.truth is not None
    clip.truth.visible_masks[8:] = moved.truth.visible_masks[8:]    # from frame 8 on the truth is another one
    told = watch([clip], dark)
    after = torch.stack([s.positions[0, 0] for s in told[8:]])
    steps = after.diff(dim=0)
    assert torch.allclose(steps, steps[0].expand_as(steps), atol=1e-5)      # straight on
    assert all(s.visible_masks.sum() == 0 for s in told[8:]) and all(s.hidden.all() for s in told[8:])
    model = KalmanTracker([clip])
    state = model.initial(torch.zeros(1, 3, *SIZE))
    for t in range(40):
        state, slots = model.step(torch.zeros(1, 3, *SIZE) if t < 8 else None, state)
        assert torch.equal(slots.positions, told[t].positions)


def test_each_clip_of_a_batch_is_filtered_as_if_alone() -> None:
    first, second = ball_behind_screen(), ball_behind_screen(frames=25, speed=2, row=20)
    both = watch([first, second])
    for alone, element in ((watch([first]), 0), (watch([second]), 1)):
        for t, slots in enumerate(alone):
            assert torch.equal(slots.positions[0], both[t].positions[element])
    drift = both[30].positions[1, 0] - both[29].positions[1, 0]
    assert drift[1].item() * (SIZE[1] - 1) / 2 == pytest.approx(2, abs=0.05)


def test_the_filter_is_optimal_in_its_own_world() -> None:
    """One axis against the textbook equations, written out with matrices."""
    clip = ball_behind_screen(frames=12)
    noise = KalmanNoise(position=0.01, velocity=0.1, acceleration=0.01)
    told = watch([clip], noise=noise)
    unit = math.hypot(*SIZE)
    model = KalmanTracker([clip], noise)
    columns = model.centroids[0, :, 0, 1].numpy()
    forward, look = np.array([[1.0, 1], [0, 1]]), np.array([[1.0, 0]])
    process = np.outer([0.5, 1], [0.5, 1]) * (0.01 * unit) ** 2
    mean, covariance = np.array([columns[0], 0]), np.diag([(0.01 * unit) ** 2, (0.1 * unit) ** 2])
    most = model.areas[0, 0, 0].item()
    for t in range(1, 12):
        area = model.areas[0, t, 0].item()
        most = max(most, area)
        sigma = 0.01 * unit + (1 - area / most) * math.sqrt(most / math.pi)
        mean, covariance = forward @ mean, forward @ covariance @ forward.T + process
        gain = covariance @ look.T @ np.linalg.inv(look @ covariance @ look.T + sigma**2)
        mean = mean + (gain * (columns[t] - look @ mean)).ravel()
        covariance = (np.eye(2) - gain @ look) @ covariance
        assert to_pixels(told[t].positions[0, 0].double().numpy(), SIZE)[1] == pytest.approx(mean[0], abs=1e-4)


def test_bad_input_is_told_in_a_sentence() -> None:
    clip = ball_behind_screen()
    with pytest.raises(LociError, match="there are none"):
        KalmanTracker([])
    with pytest.raises(LociError, match=r"film\.mp4 has no ground truth"):
        KalmanTracker([clip, Clip(clip.frames, clip.background, source="film.mp4")])
    small = Clip(clip.frames[:, :10, :10], clip.background[:10, :10], clip.truth)
    with pytest.raises(LociError, match="one size"):
        KalmanTracker([clip, small])
    with pytest.raises(LociError, match="made for 1 clips of 48 x 72"):
        KalmanTracker([clip]).initial(torch.zeros(2, 3, *SIZE))
    with pytest.raises(LociError, match=r"positions of shape \(1, 2, 2\)"):
        Slots(torch.zeros(1, 3, 2), torch.ones(1, 2, dtype=torch.bool), torch.zeros(1, 2, *SIZE))
