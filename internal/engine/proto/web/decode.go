package web

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/transform"
)

const maxWindow = 8 << 20

// decode decodes content encoding and character set of a body, to at most limit bytes. A wrongly declared encoding is
// ignored.
func (c *Client) decode(ctx context.Context, x *Exchange, limit int64) {
	if len(x.Body) == 0 {
		return
	}
	x.unzipped = x.framing.encoding == "gzip" && c.asksGzip(&x.Request)
	if x.framing.encoding != "" {
		if r, done := c.decoder(x.framing.encoding, x.Body); r != nil {
			data, err := c.collect(r, -1, limit, &bodyMemory{ctx: ctx, x: x, need: codeFactor * limit})
			if len(data) > 0 || err == nil {
				x.Body, x.Truncated = data, x.Truncated || err != nil
			}
			done()
		}
	}
	if from := charset(x.framing.kind); from != nil {
		plain := transform.NewReader(bytes.NewReader(x.Body), from.NewDecoder())
		data, err := c.collect(plain, -1, limit, &bodyMemory{ctx: ctx, x: x, need: codeFactor * limit})
		if err == nil || errors.Is(err, errTooLong) {
			x.Body = data
		}
	}
}

// asksGzip reports whether the client, not the request, asks for gzip.
func (c *Client) asksGzip(r *Request) bool {
	if r.NoDefaults || r.Raw != nil || r.Method == http.MethodHead {
		return false
	}
	for _, list := range [...][]Header{r.Headers, c.cfg.Headers} {
		if indexHeader(list, "Accept-Encoding") >= 0 || indexHeader(list, "Range") >= 0 {
			return false
		}
	}
	return true
}

// decoder is a reader for a content encoding; nil if it is unknown or wrong. done must be called after use.
func (c *Client) decoder(name string, data []byte) (r io.Reader, done func()) {
	src := bytes.NewReader(data)
	switch name {
	case "gzip", "x-gzip":
		z, ok := c.gzips.Get().(*gzip.Reader)
		if !ok {
			z = new(gzip.Reader)
		}
		if z.Reset(src) != nil {
			return nil, nil
		}
		return z, func() { c.gzips.Put(z) }
	case "deflate":
		if z, err := zlib.NewReader(src); err == nil {
			return z, func() {}
		}
	case "br":
		return brotli.NewReader(src), func() {}
	case "zstd":
		if z, err := zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow)); err == nil {
			return z, z.Close
		}
	}
	return nil, nil
}

// charset is the encoding of a content type, if it is converted to UTF-8 (template language 2.8).
func charset(kind string) encoding.Encoding {
	_, name, ok := strings.Cut(strings.ToLower(kind), "charset=")
	if !ok {
		return nil
	}
	name, _, _ = strings.Cut(name, ";")
	switch strings.Trim(name, " \t\"'") {
	case "gbk", "gb2312", "gb18030":
		return simplifiedchinese.GB18030
	case "windows-1251":
		return charmap.Windows1251
	}
	return nil
}
