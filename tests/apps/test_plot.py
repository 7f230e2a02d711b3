"""Pictures of the time-frequency map: the right size, the atom where it lies, axes that say what they are."""

import json
import struct
import unittest
import xml.etree.ElementTree
import zlib

import numpy

from support import InFolder, envoi, signal, write_text


def read_png(path):
    """8-bit RGB or RGBA PNG to an array of height x width x 3."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed, head = 8, b"", None
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0]
        if kind == b"IHDR":
            head = struct.unpack(">IIBBBBB", body)
        elif kind == b"IDAT":
            packed += body
        at += 12 + length
    width, height, depth, color, _, _, interlace = head
    assert depth == 8 and color in (2, 6) and interlace == 0
    size = 3 if color == 2 else 4
    data, stride = zlib.decompress(packed), width * size
    out, before = [], bytes(stride)
    for y in range(height):
        start = y * (stride + 1)
        kind, line = data[start], bytearray(data[start + 1 : start + 1 + stride])
        if kind == 2:
            line = bytearray((a + b) & 255 for a, b in zip(line, before))
        elif kind:
            for i in range(stride):
                left, corner = (line[i - size], before[i - size]) if i >= size else (0, 0)
                above = before[i]
                if kind == 1:
                    guess = left
                elif kind == 3:
                    guess = (left + above) // 2
                else:
                    a, b, c = abs(above - corner), abs(left - corner), abs(left + above - 2 * corner)
                    guess = left if a <= b and a <= c else above if b <= c else corner
                line[i] = (line[i] + guess) & 255
        out.append(numpy.frombuffer(bytes(line), numpy.uint8).reshape(width, size)[:, :3])
        before = bytes(line)
    return numpy.array(out, int)


def one_atom(atom):
    """A result that holds that atom alone, 10 s at 100 Hz."""
    full = {"amplitude": 1.0, "phase_rad": 0.0, "peak": 1.0, "energy": 50.0, "energy_left_share": 0.5, "se": {}} | atom
    return full


class Plot(InFolder):
    def setUp(self):
        super().setUp()
        source = write_text(self.folder / "in.txt", signal(1000, 100.0))
        self.result = self.folder / "r.json"
        done = envoi("analyze", source, "--rate", 100, "--window", "whole", "--atoms", 3, "--band", "1:40", "-o", self.result)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.source = source

    def with_atoms(self, *atoms):
        result = json.loads(self.result.read_text())
        result["segments"][0]["atoms"] = [one_atom(atom) for atom in atoms]
        path = self.folder / "atoms.json"
        path.write_text(json.dumps(result))
        return path

    def picture(self, *arguments):
        path = self.folder / "map.png"
        done = envoi("plot", *arguments, *(() if "--size" in arguments else ("--size", "500x333")), "-o", path)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return read_png(path)

    def test_size(self):
        self.assertEqual(self.picture(self.result, "--size", "500x333").shape, (333, 500, 3))
        path = self.folder / "default.png"
        envoi("plot", self.result, "-o", path)
        self.assertEqual(struct.unpack(">II", path.read_bytes()[16:24]), (1200, 600))

    def test_an_atom_is_brightest_at_its_place(self):
        # gray draws the largest density black; the plot's frame and letters are no darker than #1d2126.
        for time_s, frequency_hz, chirp in ((2.5, 30.0, 0.0), (7.0, 11.0, 9.0), (5.0, 20.0, -30.0)):
            with self.subTest(time_s=time_s):
                atom = {"time_s": time_s, "frequency_hz": frequency_hz, "duration_s": 0.2, "chirp_rate_hz_per_s": chirp}
                view = ("--band", "0:40", "--cmap", "gray", "--size", "700x350", "--from", 0, "--to", 10)
                image = self.picture(self.with_atoms(atom), *view)
                inside = image[44:292, 76:592].sum(axis=2)
                rows, columns = numpy.nonzero(inside <= 6)
                self.assertGreater(len(rows), 0)
                self.assertAlmostEqual((columns.mean() + 0.5) / inside.shape[1] * 10, time_s, delta=0.05)
                self.assertAlmostEqual((1 - (rows.mean() + 0.5) / inside.shape[0]) * 40, frequency_hz, delta=0.3)
                # Half a duration later the ridge has moved by half a duration of the chirp rate.
                column = inside[:, int((time_s + 0.1) / 10 * inside.shape[1])]
                ridge = numpy.flatnonzero(column == column.min()).mean()
                self.assertAlmostEqual((1 - (ridge + 0.5) / len(column)) * 40, frequency_hz + 0.1 * chirp, delta=0.5)

    def test_colours_and_ellipses_change_the_picture(self):
        pictures = [self.picture(self.result, "--cmap", name) for name in ("cividis", "viridis", "magma", "gray")]
        pictures.append(self.picture(self.result, "--ellipses"))
        pictures.append(self.picture(self.result, "--range", 20))
        for i, one in enumerate(pictures):
            for other in pictures[:i]:
                self.assertTrue((one != other).any())

    def test_same_bytes_again(self):
        for ending in ("png", "svg"):
            envoi("plot", self.result, "-o", self.folder / f"a.{ending}", "-o", self.folder / f"b.{ending}")
            self.assertEqual((self.folder / f"a.{ending}").read_bytes(), (self.folder / f"b.{ending}").read_bytes())

    def test_svg_holds_its_labels(self):
        result = json.loads(self.result.read_text())
        result["source"]["name"] = 'a <b> & "c"\u0001.txt'
        result["channels"][0]["unit"] = "uV"
        self.result.write_text(json.dumps(result))
        path = self.folder / "map.svg"
        done = envoi("plot", self.result, "-o", path, "--ellipses", "--size", "800x400")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        root = xml.etree.ElementTree.parse(path).getroot()
        self.assertEqual((root.get("width"), root.get("height")), ("800", "400"))
        space = "{http://www.w3.org/2000/svg}"
        texts = [t.text for t in root.iter(space + "text")]
        for text in ("Time (s)", "Frequency (Hz)", "Power density (dB re 1 µV²/Hz)", "0", "10", "40"):
            self.assertIn(text, texts)
        self.assertTrue(any(t.startswith('a <b> & "c"') for t in texts), texts)
        images = list(root.iter(space + "image"))
        self.assertEqual(len(images), 2)  # the map and the colour bar
        self.assertTrue(all(i.get("href").startswith("data:image/png;base64,") for i in images))
        atoms = sum(len(s["atoms"]) for s in result["segments"])
        self.assertGreaterEqual(len(list(root.iter(space + "polyline"))), atoms + 1)

    def lines(self, *atoms):
        """Points and opacities of the lines over the map, and how many lines the picture has without them."""
        path = self.folder / "map.svg"
        counts = []
        for more in ((), ("--ellipses",)):
            done = envoi("plot", self.with_atoms(*atoms), "-o", path, *more)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            lines = [e for e in xml.etree.ElementTree.parse(path).getroot().iter("{http://www.w3.org/2000/svg}polyline")]
            counts.append(len(lines))
        white = [e for e in lines if e.get("stroke") == "#ffffff"]
        self.assertEqual(counts[1] - counts[0], len(white))
        return [(len(e.get("points").split()), float(e.get("stroke-opacity"))) for e in white]

    def test_thin_atoms_are_one_line(self):
        place = {"time_s": 5.0, "frequency_hz": 20.0}
        round_one = place | {"duration_s": 0.2, "chirp_rate_hz_per_s": 0.0}
        long_one = place | {"duration_s": 2.0, "chirp_rate_hz_per_s": 5.0}
        click = place | {"duration_s": 0.001, "chirp_rate_hz_per_s": 0.0}
        self.assertEqual([n for n, _ in self.lines(round_one)], [49, 2])
        self.assertEqual([n for n, _ in self.lines(long_one)], [2])
        self.assertEqual([n for n, _ in self.lines(click)], [2])

    def test_the_strongest_are_outlined_and_the_weaker_are_fainter(self):
        atoms = [
            {"time_s": 0.1 * k, "frequency_hz": 20.0, "duration_s": 2.0, "chirp_rate_hz_per_s": 5.0, "energy": 10.0 ** -(k / 25)}
            for k in range(90)
        ]
        lines = self.lines(*atoms)
        self.assertEqual(len(lines), 40)
        opacities = [opacity for _, opacity in lines]
        self.assertEqual(opacities, sorted(opacities))  # the strongest last, on top
        self.assertGreater(opacities[-1], 0.9)
        self.assertLess(opacities[0], 0.75)

    def test_small_units_look_like_large_ones(self):
        atom = {"time_s": 5.0, "frequency_hz": 20.0, "duration_s": 0.2, "chirp_rate_hz_per_s": 3.0}
        large = self.picture(self.with_atoms(atom | {"energy": 1.0}), "--range", 60)[44:270, 76:390]
        small = self.picture(self.with_atoms(atom | {"energy": 1e-42}), "--range", 60)[44:270, 76:390]
        self.assertTrue((abs(large - small) <= 2).all())

    def test_a_picture_without_atoms_is_drawn_and_said(self):
        path = self.folder / "map.png"
        atom = {"time_s": 2.0, "frequency_hz": 20.0, "duration_s": 0.2, "chirp_rate_hz_per_s": 3.0}
        for atoms, view in (((), ()), ((atom,), ("--from", 6, "--to", 8)), ((atom,), ("--band", "30:40"))):
            done = envoi("plot", self.with_atoms(*atoms), "-o", path, *view)
            self.assertEqual(done.returncode, 0)
            self.assertIn(b"map.png: no atom lies in", done.stderr)
            self.assertEqual(read_png(path).shape, (600, 1200, 3))

    def test_refusals(self):
        out = self.folder / "m.png"
        for arguments, code, words in (
            (("-o", self.folder / "m.gif"), 2, (".png", ".svg", ".html")),
            (("-o", out, "--channel", "nobody"), 2, ("nobody", "there are")),
            (("-o", out, "--size", "10x10"), 2, ("320 x 240",)),
            (("-o", out, "--size", "1200"), 2, ("1200x600",)),
            (("-o", out, "--cmap", "jet"), 2, ("cividis",)),
            (("-o", out, "--from", 5, "--to", 5), 2, ("nothing lies between",)),
            (("-o", out, "--from", 20, "--to", 30), 2, ("nothing lies between", "from 0 s to 10 s")),
            (("-o", out, "--from", 20), 2, ("from 0 s to 10 s",)),
            (("-o", out, "--to", -1), 2, ("from 0 s to 10 s",)),
            (("-o", out, "--band", "20:10"), 2, ("--band",)),
            (("-o", out, "--band", "60:70"), 2, ("up to 50 Hz",)),
            (("-o", out, "--signal", self.source), 2, ("--signal",)),
            (("-o", self.folder / "nowhere" / "m.png"), 3, ("nowhere",)),
        ):
            with self.subTest(arguments=arguments):
                self.check_refused(envoi("plot", self.result, *arguments), code, *words)
                self.assertFalse(out.exists())
        self.check_refused(envoi("plot", self.source, "-o", out), 3, "in.txt")

    def test_a_page_wants_the_file_that_was_analysed(self):
        page = self.folder / "page.html"
        done = envoi("plot", self.result, "-o", page, "--signal", self.source)
        if b"no report page" in done.stderr:
            self.check_refused(done, 2, "Node.js")
            self.skipTest("this build has no report page")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertIn('"per_bin": 1', page.read_text())
        direct = self.folder / "direct.html"
        envoi("analyze", self.source, "--like", self.result, "--report", direct)
        self.assertEqual(direct.read_bytes(), page.read_bytes())
        other = write_text(self.folder / "other.txt", signal(1000, 100.0, seed=1))
        page.unlink()
        self.check_refused(envoi("plot", self.result, "-o", page, "--signal", other), 3, "other.txt", "is not the file")
        self.assertFalse(page.exists())


if __name__ == "__main__":
    unittest.main()
