// Package whois queries WHOIS servers (RFC 3912): one line is sent, a text comes back, and the connection ends.
package whois

import (
	"context"
	"errors"
	"fmt"
	"net"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"github.com/vedette-sec/vedette/internal/infra/membudget"
)

// Port is the port of WHOIS.
const Port = "43"

var (
	// ErrEmpty is an empty answer.
	ErrEmpty = errors.New("it answered nothing")
	// ErrTruncated is an answer beyond the bound.
	ErrTruncated = errors.New("its answer is too long")
)

// Query sends one question to the server at host:port, over a connection of dial. Of an answer of more than most
// bytes it gives those, with ErrTruncated.
func Query(
	ctx context.Context, dial func(ctx context.Context, network, addr string) (net.Conn, error),
	server, question string, most int64,
) (string, error) {
	conn, err := dial(ctx, "tcp", server)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err := fmt.Fprintf(conn, "%s\r\n", question); err != nil {
		return "", err
	}
	share := membudget.Process().Share()
	defer share.Release()
	text, err := share.ReadAll(ctx, conn, most+1)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil && len(text) == 0: // some servers reset the connection behind their last byte
		return "", err
	case len(text) == 0:
		return "", ErrEmpty
	case int64(len(text)) > most:
		return Text(text[:most]), ErrTruncated
	}
	return Text(text), nil
}

// Text is an answer in UTF-8: what is not is taken for Latin-1, as old servers write.
func Text(text []byte) string {
	if utf8.Valid(text) {
		return string(text)
	}
	latin, _ := charmap.ISO8859_1.NewDecoder().Bytes(text) // all bytes are valid
	return string(latin)
}
