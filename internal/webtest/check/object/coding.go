package object

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"io"
)

// coding is how a value is written in a request.
type coding struct{ encode func([]byte) string }

// maxPlain is how many bytes of a packed value are unpacked.
const maxPlain = 1 << 20

// decoded are the bytes of a value, in base64 and perhaps packed in it, and how they are written again.
func decoded(value string) (plain []byte, as coding) {
	for _, c := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding,
		base64.RawURLEncoding} {
		raw, err := c.DecodeString(value)
		if err != nil || len(raw) <= 4 {
			continue
		}
		for _, p := range packings {
			if plain, ok := p.unpacked(raw); ok {
				return plain, coding{func(b []byte) string { return c.EncodeToString(p.packed(b)) }}
			}
		}
		return raw, coding{c.EncodeToString}
	}
	return []byte(value), coding{func(b []byte) string { return string(b) }}
}

// packing is a format of packed bytes, which begin so.
type packing struct {
	begins string
	reader func(io.Reader) (io.ReadCloser, error)
	writer func(io.Writer) io.WriteCloser
}

var packings = []packing{
	{"\x78", zlib.NewReader, func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }},
	{"\x1f\x8b", func(r io.Reader) (io.ReadCloser, error) { return gzip.NewReader(r) },
		func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }},
}

// unpacked are the bytes that were packed; false for what is not of the format, or is long.
func (p packing) unpacked(raw []byte) ([]byte, bool) {
	if !bytes.HasPrefix(raw, []byte(p.begins)) {
		return nil, false
	}
	r, err := p.reader(bytes.NewReader(raw))
	if err != nil {
		return nil, false
	}
	defer r.Close()
	plain, err := io.ReadAll(io.LimitReader(r, maxPlain))
	return plain, err == nil && len(plain) < maxPlain
}

func (p packing) packed(plain []byte) []byte {
	var out bytes.Buffer
	w := p.writer(&out)
	_, _ = w.Write(plain) // a buffer takes everything
	_ = w.Close()
	return out.Bytes()
}
