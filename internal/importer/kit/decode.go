package kit

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/importer/stream"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Bounds of what a compressed report may become: maxRatio times its size, beyond the first freeBytes.
const (
	maxRatio  = 300
	freeBytes = 64 << 20
)

// Malformed is the error for a report that cannot be read at all, or not to its end.
func Malformed(format string, args ...any) *errs.Error { return stream.Malformed(format, args...) }

var errTooLarge = errs.New(errs.TooLarge, "import_too_large", "The report is larger than is allowed.").At("file")

// counter counts what is read, ends with the context, and refuses more than a limit.
type counter struct {
	ctx   context.Context
	r     io.Reader
	n     int64
	limit int64
	ratio *counter // what this was decompressed from; nil for none
}

func (c *counter) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.r.Read(p)
	c.n += int64(n)
	if c.n > c.limit {
		return 0, errTooLarge
	}
	if c.ratio != nil && c.n > freeBytes && c.n > maxRatio*c.ratio.n {
		return 0, errs.New(errs.TooLarge, "import_too_large",
			"The compressed report unpacks to more than %d times its size.", maxRatio).At("file")
	}
	return n, err
}

// plain is the report as UTF-8 without a byte order mark: decompressed if it is gzip.
func plain(ctx context.Context, r io.Reader, limit int64, unpacked *counter) (*bufio.Reader, error) {
	raw := &counter{ctx: ctx, r: r, limit: limit, ratio: unpacked}
	b := bufio.NewReaderSize(raw, 64<<10)
	if head, _ := b.Peek(2); bytes.Equal(head, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, Malformed("The gzip file is damaged: %v.", err)
		}
		b = bufio.NewReaderSize(&counter{ctx: ctx, r: gunzip{z}, limit: limit, ratio: raw}, 64<<10)
	}
	head, err := b.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch order := utf16Order(head); {
	case bytes.HasPrefix(head, []byte{0xEF, 0xBB, 0xBF}):
		_, _ = b.Discard(3)
	case order != 0:
		if head[0] >= 0xFE {
			_, _ = b.Discard(2)
		}
		b = bufio.NewReaderSize(&utf16Reader{r: b, little: order == 'l'}, 64<<10)
	}
	return b, nil
}

// gunzip words the errors of a damaged file.
type gunzip struct{ r io.Reader }

func (g gunzip) Read(p []byte) (int, error) {
	n, err := g.r.Read(p)
	if errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) || errors.Is(err, io.ErrUnexpectedEOF) ||
		err != nil && !errors.Is(err, io.EOF) && errs.From(err).Kind == errs.Internal && !isContext(err) {
		err = Malformed("The gzip file is damaged: %v.", err)
	}
	return n, err
}

func isContext(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// utf16Order is 'l' or 'b' for UTF-16, with or without a byte order mark; 0 for other texts.
func utf16Order(head []byte) byte {
	if len(head) < 2 {
		return 0
	}
	switch {
	case head[0] == 0xFF && head[1] == 0xFE:
		return 'l'
	case head[0] == 0xFE && head[1] == 0xFF:
		return 'b'
	case len(head) >= 4 && head[0] != 0 && head[1] == 0 && head[2] != 0 && head[3] == 0:
		return 'l'
	case len(head) >= 4 && head[0] == 0 && head[1] != 0 && head[2] == 0 && head[3] != 0:
		return 'b'
	}
	return 0
}

// utf16Reader turns UTF-16 into UTF-8; half of a pair becomes the replacement character.
type utf16Reader struct {
	r      *bufio.Reader
	little bool
	left   []byte
	high   rune // the first half of a pair that was read
}

func (u *utf16Reader) Read(p []byte) (int, error) {
	for len(u.left) == 0 {
		a, err := u.r.ReadByte()
		if err != nil {
			if u.high != 0 {
				u.high = 0
				u.left = utf8.AppendRune(nil, utf8.RuneError)
				break
			}
			return 0, err
		}
		b, err := u.r.ReadByte()
		if err != nil {
			return 0, Malformed("The UTF-16 text ends within a character.")
		}
		if u.little {
			a, b = b, a
		}
		u.unit(rune(a)<<8 | rune(b))
		for len(u.left) > 0 && len(u.left) < 4096 && u.r.Buffered() >= 2 {
			a, _ := u.r.ReadByte()
			b, _ := u.r.ReadByte()
			if u.little {
				a, b = b, a
			}
			u.unit(rune(a)<<8 | rune(b))
		}
	}
	n := copy(p, u.left)
	u.left = u.left[n:]
	return n, nil
}

func (u *utf16Reader) unit(r rune) {
	if u.high != 0 {
		pair := utf16.DecodeRune(u.high, r)
		u.high = 0
		u.left = utf8.AppendRune(u.left, pair)
		if pair != utf8.RuneError {
			return
		}
	}
	if r >= 0xD800 && r < 0xDC00 {
		u.high = r
		return
	}
	u.left = utf8.AppendRune(u.left, r)
}
