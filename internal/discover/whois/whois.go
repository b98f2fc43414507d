// Package whois asks servers that speak WHOIS (RFC 3912): one line goes there, a text comes
// back, and the connection ends. What questions and texts mean is between those who ask
// and the server.
package whois

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"unicode/utf8"
)

// Port is where WHOIS is.
const Port = "43"

var (
	// ErrNothing is what an answer without a byte is.
	ErrNothing = errors.New("it answered nothing")
	// ErrCut says that an answer is longer than was asked for.
	ErrCut = errors.New("its answer is too long")
)

// Ask asks the server at host:port one question, over a connection that dial makes. It
// takes at most so many bytes of the answer: of a longer one it gives those, with ErrCut.
func Ask(ctx context.Context, dial func(ctx context.Context, network, addr string) (net.Conn, error), server, question string, most int64) (string, error) {
	conn, err := dial(ctx, "tcp", server)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // ends a read
	defer stop()
	if _, err := fmt.Fprintf(conn, "%s\r\n", question); err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(conn, most+1))
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil && len(text) == 0: // some servers reset the connection behind their last byte
		return "", err
	case len(text) == 0:
		return "", ErrNothing
	case int64(len(text)) > most:
		return Text(text[:most]), ErrCut
	}
	return Text(text), nil
}

// Text is an answer in UTF-8: what is not is taken for Latin-1, as old servers write.
func Text(text []byte) string {
	if utf8.Valid(text) {
		return string(text)
	}
	runes := make([]rune, len(text))
	for i, b := range text {
		runes[i] = rune(b)
	}
	return string(runes)
}
