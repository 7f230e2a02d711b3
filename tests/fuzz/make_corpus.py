"""Writes the seeds of the fuzz targets into corpus/: small files, each a different way through a parser."""
import io
import os
import struct
import wave

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")


def save(target, name, data):
    os.makedirs(os.path.join(HERE, target), exist_ok=True)
    with open(os.path.join(HERE, target, name), "wb") as out:
        out.write(data.encode() if isinstance(data, str) else data)


def edf(signals, records, reserved="", record_s="1", wide=False, count=None):
    """signals: (label, unit, samples a record, list of record bytes)."""
    n = len(signals)
    out = (b"\xffBIOSEMI" if wide else b"0       ") + b"X X X X".ljust(80) + b"Startdate 31-JAN-2026 X X X".ljust(80)
    out += b"31.01.26" + b"22.10.05" + str(256 * (n + 1)).encode().ljust(8) + reserved.encode().ljust(44)
    out += str(records if count is None else count).encode().ljust(8) + record_s.encode().ljust(8)
    out += str(n).encode().ljust(4)
    columns = [
        (16, lambda s: s[0]), (80, lambda s: ""), (8, lambda s: s[1]), (8, lambda s: "-100"), (8, lambda s: "100"),
        (8, lambda s: "-32768"), (8, lambda s: "32767"), (80, lambda s: ""), (8, lambda s: str(s[2])),
        (32, lambda s: ""),
    ]
    for width, value in columns:
        for signal in signals:
            out += value(signal).encode("latin-1").ljust(width)
    for record in range(records):
        for signal in signals:
            out += signal[3][record]
    return out


def tal(text, samples, width=2):
    return text.encode().ljust(samples * width, b"\0")


def main():
    two = [struct.pack("<4h", 1, -2, 3, -4), struct.pack("<4h", 5, 6, 7, 8)]
    one = [struct.pack("<h", 9), struct.pack("<h", -9)]
    save("edf", "plain", edf([("Fp1", "uV", 4, two), ("ECG", "mV", 1, one)], 2))
    save("edf", "open_count", edf([("Fp1", "\xb5V", 4, two)], 2, count=-1, record_s="0.5"))
    notes = [tal("+0.5\x14\x14\0+0.7\x151.5\x14a\x14b\x14", 16), tal("+1.5\x14\x14\0+1.75\x14\u4e2d\x14", 16)]
    save("edf", "plus", edf([("Fp1", "uV", 4, two), ("EDF Annotations", "", 16, notes)], 2, "EDF+C"))
    gaps = [tal("+0\x14\x14", 16), tal("+3.5\x14\x14", 16)]
    save("edf", "gaps", edf([("Fp1", "uV", 4, two), ("EDF Annotations", "", 16, gaps)], 2, "EDF+D"))
    save("edf", "notes_alone", edf([("EDF Annotations", "", 16, notes)], 2, "EDF+C", record_s="0"))
    save("edf", "bdf", edf([("A1", "uV", 2, [b"\1\2\3\xff\xff\xff"]), ("Status", "", 1, [b"\0\1\0"])], 1, wide=True))

    def brainvision(number="INT_16", orientation="MULTIPLEXED", channels=("Fp1,,0.5,\u00b5V", "Cz"), extra=""):
        lines = ["Brain Vision Data Exchange Header File Version 1.0", "[Common Infos]", "DataFile=x.eeg", "MarkerFile=x.vmrk",
                 "DataFormat=BINARY", f"DataOrientation={orientation}", f"NumberOfChannels={len(channels)}",
                 "SamplingInterval=4000", extra, "[Binary Infos]", f"BinaryFormat={number}", "[Channel Infos]"]
        lines += [f"Ch{i + 1}={channel}" for i, channel in enumerate(channels)]
        return "\r\n".join(lines).encode("latin-1")

    marks = (b"Brain Vision Data Exchange Marker File, Version 1.0\n[Marker Infos]\nMk1=New Segment,,1,1,0,20260131221005500000\n"
             b"Mk2=Stimulus,S  1,2,1,0\nMk3=Bad Interval,a\\1b,2,9,0")
    for name, header, samples in (
        ("int16", brainvision(), struct.pack("<8h", *range(8))),
        ("float_vectorized", brainvision("IEEE_FLOAT_32", "VECTORIZED"), struct.pack("<8f", *range(8))),
        ("int32_big", brainvision("INT_32", extra="UseBigEndianOrder=YES"), struct.pack(">8i", *range(8))),
    ):
        save("brainvision", name, header + b"\n===\n" + marks + b"\n===\n" + samples)

    def chunk(tag, content):
        length = len(content) + 2
        head = b"\1" + bytes([length]) if length < 256 else b"\4" + struct.pack("<I", length)
        return head + struct.pack("<H", tag) + content

    def stream(number, kind, rate, form, desc=""):
        info = (f"<info><name>s{number}</name><type>{kind}</type><channel_count>1</channel_count><nominal_srate>{rate}"
                f"</nominal_srate><channel_format>{form}</channel_format><desc>{desc}</desc></info>")
        return chunk(2, struct.pack("<I", number) + info.encode())

    def samples(number, form, values, start, step):
        body = b"".join(b"\x08" + struct.pack("<d" + form, start + step * i, v) for i, v in enumerate(values))
        return chunk(3, struct.pack("<I", number) + b"\1" + bytes([len(values)]) + body)

    channel = "<channels><channel><label>Cz</label><unit>microvolts</unit><type>EEG</type></channel></channels>"
    word = chunk(3, struct.pack("<I", 2) + b"\1\1\x08" + struct.pack("<d", 0.5) + b"\1\2go")
    offsets = b"".join(chunk(4, struct.pack("<Idd", 1, t, o)) for t, o in ((0, 5), (5, 5.0001), (10, 5), (900, -800), (905, -800)))
    mark = chunk(5, bytes.fromhex("43a546dccbf5410fb30ed5467383cbe4"))
    first = b"XDF:" + chunk(1, b"<info><version>1.0</version></info>") + stream(1, "EEG", 100, "int16", channel)
    save("xdf", "plain", first + stream(2, "Markers", 0, "string") + samples(1, "h", range(9), 0, 0.01) + word)
    save("xdf", "resets", first + offsets + samples(1, "h", range(9), 0, 0.01) + samples(1, "h", range(9), 900, 0.01))
    save("xdf", "backward", first + samples(1, "h", range(5), 9, 0.01) + mark + samples(1, "h", range(5), 0, 0.01))
    save("xdf", "irregular", first + stream(3, "Gaze", 0, "double64") + samples(3, "d", (1, 2), 0, 1)
         + chunk(6, struct.pack("<I", 1) + b"<info><sample_count>7</sample_count></info>"))
    save("xdf", "implied", first + chunk(3, struct.pack("<I", 1) + b"\1\2\0\1\0\0\2\0"))

    save("text", "mind_monitor", "TimeStamp,RAW_TP9,Elements\n" + "2026-01-31 22:10:05.132,800,\n" * 9 + "2026-01-31 22:10:05.2,,/b\n")
    save("text", "openbci", "%Sample Rate = 250 Hz\nSample Index, EXG Channel 0, Timestamp\n255, 1.5, 1.7e9\n3, 2, 1.7e9\n")
    save("text", "brainflow", "".join("\t".join([str(i)] + ["1"] * 12 + ["1700000000", "0"]) + "\n" for i in (1, 2, 9)))
    save("text", "values", "1\n-2.5\n3e2\n\nnan\n")
    save("text", "csv", "\ufefftime,\"a (uV)\",b\r\n0,1,NA\r\n0.25,2,\r\n0.5,3,4\r\n")
    save("text", "semicolon", "t [ms];x\n0;1,5\n2;2,5\n4;3,5\n")
    save("text", "blanks", "# time (seconds)   strain\n0.25 1e-3\n0.5 2e-3\n0.75 3e-3\n")
    save("text", "gaps", "time\tx\tnote\n0\t1\tp\n1\t2\tq\n2\t3\tr\n5\t4\ts\n")
    save("text", "index", ",x\n0,5\n1,6\n2,7\n")
    save("text", "mac", "1 2\r3 4\r")

    def npy(descr, shape, data, order="False", version=1):
        text = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n".encode()
        length = struct.pack("<H" if version == 1 else "<I", len(text))
        return b"\x93NUMPY" + bytes([version, 0]) + length + text + data

    save("npy", "f8", npy("<f8", "(2,)", struct.pack("<2d", 1, 2)))
    save("npy", "f4_big_fortran", npy(">f4", "(3, 2)", struct.pack(">6f", *range(6)), "True"))
    save("npy", "i2_v2", npy("<i2", "(2, 2)", struct.pack("<4h", 1, 2, 3, 4), version=2))
    save("npy", "u1_v3", npy("|u1", "(4,)", b"\1\2\3\4", version=3))
    save("npy", "records", b"\x93NUMPY\1\0\x40\0" + b"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}")

    for channels, width in ((1, 2), (2, 1), (3, 3)):
        memory = io.BytesIO()
        with wave.open(memory, "wb") as out:
            out.setnchannels(channels)
            out.setsampwidth(width)
            out.setframerate(8000)
            out.writeframes(bytes(range(12 * channels * width % 256)))
        save("audio", f"wav_{channels}x{8 * width}", memory.getvalue())
    head = b"COMM" + struct.pack(">IhIh", 18, 1, 4, 16) + b"\x40\x0b\xfa\0\0\0\0\0\0\0"
    body = b"SSND" + struct.pack(">III", 16, 0, 0) + struct.pack(">4h", 1, -2, 3, -4)
    save("audio", "aiff", b"FORM" + struct.pack(">I", 4 + len(head) + len(body)) + b"AIFF" + head + body)
    save("audio", "au", b".snd" + struct.pack(">5I", 24, 8, 3, 8000, 1) + struct.pack(">4h", 1, -2, 3, -4))

    save("audio", "flac", bytes.fromhex(
        "664c6143000000221000100000004c00004c01f402f00000001458ae581e4c08fabdcf2fa2e01553b1a0840000282000"
        "00007265666572656e6365206c6962464c414320312e342e3220323032323130323200000000fff86418001338112051"
        "70f44a583cec636d6577b844fcea3fa08cb4ad8398fe7d10d10679014b44502d89b44c44d20079c8a29bb555f3776259"
        "e14991ce22d5b51525cf6d8f96bd2c8476e1"
    ))

    atom = (
        '{"time_s":0.7,"frequency_hz":12.4,"duration_s":0.3,"chirp_rate_hz_per_s":-1.2,"amplitude":21.0,'
        '"phase_rad":0.4,"peak":20.9,"energy":310.2,"energy_share":0.38,"energy_left_share":0.62,"se":{"time_s":0.002}}'
    )
    segment = (
        '{"channel":0,"start_s":0.0,"samples":512,"mean":1.3,"slope_per_s":0.0,"energy":812.5,"in_band_share":0.97,'
        '"missing_samples":0,"stop_reason":"atoms","snr_db":2.0,"energy_left_share":0.62,'
        '"certificate":{"precision":"f32","bound":1e-6,"survivors":[3]},"atoms":[' + atom + "]}"
    )
    head = (
        '{"format":"envoi.decomposition","version":1,"program":{"version":"0.1.0","device":"cpu","isa":"avx2"},'
        '"source":{"name":"night.edf","sha256":"","format":"edf+","start":null},"rate_hz":256.0,"parameters":{},'
        '"grid":{"atoms_per_segment":603520,"max_loss":0.1,"scales":[]},'
        '"channels":[{"name":"Cz","unit":"uV","rate_hz":256.0}]'
    )
    save("result", "json", head + ',"segments":[' + segment + "]}")
    save("result", "ndjson", head + "}\n" + segment + "\n")


if __name__ == "__main__":
    main()
