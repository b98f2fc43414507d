package windows

import "testing"

func FuzzParse(f *testing.F) {
	f.Add(append(header(0, 0), make([]byte, 64)...))
	f.Add([]byte{0x60, 0x06, 0x06, 0x01, 0x2a, 0xa0, 0x01, 0x30})
	f.Fuzz(func(_ *testing.T, b []byte) {
		if g, err := parseGreeting(b); err == nil {
			g.log(map[string]any{})
		}
		mechanisms(b)
		setupLog(b)
		if isRDP(b) {
			rdpSystem(b)
		}
	})
}

func FuzzBER(f *testing.F) {
	f.Add([]byte("\x30\x05\x02\x01\x01\x61\x00"))
	f.Fuzz(func(_ *testing.T, b []byte) {
		berFits(b, maxLevels)
		_, _ = decodeSID(string(b))
	})
}
