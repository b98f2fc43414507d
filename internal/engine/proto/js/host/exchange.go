package host

import (
	"errors"
	"net"
	"os"
	"time"
)

// readTimeout is what nuclei gives a server for the first answer.
const readTimeout = 5 * time.Second

// Exchange sends a message, if there is one, and reads once what comes back: up to 4,096 bytes, and none from a server
// that stays silent.
func (h *Host) Exchange(conn net.Conn, message []byte) ([]byte, error) {
	if err := conn.SetDeadline(time.Now().Add(min(readTimeout, h.Timeout))); err != nil {
		return nil, err
	}
	if len(message) > 0 {
		if _, err := conn.Write(message); err != nil {
			return nil, err
		}
	}
	b := make([]byte, 4096)
	n, err := conn.Read(b)
	if n > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		err = nil
	}
	return b[:n], err
}
