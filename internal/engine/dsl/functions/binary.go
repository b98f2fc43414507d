package functions

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// maxUnpacked bounds unpacked data unless the template sets a limit.
const maxUnpacked = 10 << 20

func binaryFunctions() []Function {
	return []Function{
		packer("gzip", func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }),
		packer("zlib", func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }),
		packer("deflate", func(w io.Writer) io.WriteCloser {
			f, _ := flate.NewWriter(w, flate.DefaultCompression) // fails for a wrong level only
			return f
		}),
		unpacker("gzip_decode", func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }),
		unpacker("zlib_decode", func(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) }),
		unpacker("inflate", func(r io.Reader) (io.Reader, error) { return flate.NewReader(r), nil }),
		{Name: "gzip_mtime", Min: 1, Max: 1, Expensive: true, Run: gzipTime},
		slow(Function{Name: "zip", Min: 2, Max: -1, Expensive: true, Run: zipFiles}),
		function("unpack", 2, 2, unpack),
		function("xor", 2, -1, xor),
	}
}

func packer(name string, open func(io.Writer) io.WriteCloser) Function {
	return Function{Name: name, Min: 1, Max: 1, Expensive: true, Run: func(env *Env, args []any) (any, error) {
		var b strings.Builder
		w := open(&b)
		for s := String(args[0]); s != ""; {
			n := min(len(s), checkEvery)
			if err := env.Budget.Spend(env.Ctx, n); err != nil {
				return nil, err
			}
			if _, err := io.WriteString(w, s[:n]); err != nil {
				return nil, err
			}
			s = s[n:]
		}
		if err := w.Close(); err != nil {
			return nil, err
		}
		return b.String(), nil
	}}
}

func unpacker(name string, open func(io.Reader) (io.Reader, error)) Function {
	return Function{Name: name, Min: 1, Max: -1, Expensive: true, Run: func(_ *Env, args []any) (any, error) {
		limit := int64(maxUnpacked)
		if len(args) > 1 {
			if n, err := wholeNumber(args[1]); err == nil {
				limit = min(n, MaxResult)
			}
		}
		r, err := open(strings.NewReader(String(args[0])))
		if err != nil {
			return nil, err
		}
		b, err := io.ReadAll(io.LimitReader(r, limit))
		if err != nil {
			return nil, err
		}
		return string(b), nil
	}}
}

// octets are the bytes of a string or of bytes.
func octets(v any) ([]byte, error) {
	switch v := v.(type) {
	case string:
		return []byte(v), nil
	case []byte:
		return v, nil
	}
	return nil, fmt.Errorf("%s is no text", Quote(v))
}

func gzipTime(_ *Env, args []any) (any, error) {
	r, err := gzip.NewReader(strings.NewReader(String(args[0])))
	if err != nil {
		return nil, err
	}
	if r.ModTime.IsZero() {
		return 0.0, nil
	}
	return float64(r.ModTime.Unix()), nil
}

func zipFiles(_ *Env, args []any) (any, error) {
	if len(args)%2 != 0 {
		return nil, errors.New("zip takes names and contents in pairs")
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(args); i += 2 {
		name, err := octets(args[i])
		if err != nil {
			return nil, err
		}
		content, err := octets(args[i+1])
		if err != nil {
			return nil, err
		}
		w, err := z.Create(string(name))
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(content); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// The letters of a format and the bytes of each.
const (
	formatLetters = "?bBhHiIlLfqQds"
	formatSizes   = "11122444448880"
)

// unpack reads the first value of binary data. The format is that of Python's struct module, without counts; capital
// letters other than B are signed, too.
func unpack(_ *Env, args []any) (any, error) {
	format, err := octets(args[0])
	if err != nil {
		return nil, err
	}
	data, err := octets(args[1])
	if err != nil {
		return nil, err
	}
	var order binary.ByteOrder = binary.LittleEndian
	var first any
	for _, c := range string(format) {
		switch c {
		case '<':
			order = binary.LittleEndian
			continue
		case '>':
			order = binary.BigEndian
			continue
		}
		at := strings.IndexRune(formatLetters, c)
		if at < 0 {
			return nil, fmt.Errorf("%q is not in a format", c)
		}
		size := int(formatSizes[at] - '0')
		if size > len(data) {
			return nil, errors.New("the data is shorter than the format")
		}
		if first == nil {
			first = unpackOne(c, order, data[:size])
		}
		data = data[size:]
	}
	if first == nil {
		return nil, errors.New("the format has no value")
	}
	return first, nil
}

func unpackOne(letter rune, order binary.ByteOrder, b []byte) any {
	switch letter {
	case '?':
		return int8(b[0]) > 0
	case 'b':
		return int(int8(b[0]))
	case 'B':
		return int(b[0])
	case 'h', 'H':
		return int(int16(order.Uint16(b)))
	case 'i', 'I', 'l', 'L':
		return int(int32(order.Uint32(b)))
	case 'q', 'Q':
		return int(order.Uint64(b))
	case 'f':
		short := strconv.FormatFloat(float64(math.Float32frombits(order.Uint32(b))), 'g', -1, 32)
		f, _ := strconv.ParseFloat(short, 64) // it was just written
		return f
	case 'd':
		return math.Float64frombits(order.Uint64(b))
	default: // s, of no bytes
		return ""
	}
}

// xor combines its arguments, each repeated to the length of the longest.
func xor(_ *Env, args []any) (any, error) {
	var out []byte
	inputs := make([][]byte, 0, len(args))
	for _, a := range args {
		b, err := octets(a)
		if err != nil {
			return nil, err
		}
		if len(b) == 0 {
			return nil, errors.New("an argument is empty")
		}
		inputs = append(inputs, b)
		if len(b) > len(out) {
			out = make([]byte, len(b))
		}
	}
	for _, b := range inputs {
		for i := range out {
			out[i] ^= b[i%len(b)]
		}
	}
	return out, nil
}
