// Package windows has the modules of javascript blocks that ask services of Windows: smb, rdp and ldap. The
// messages of smb and rdp are written by hand: they are those of a first greeting, and of a list of shares.
package windows

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
)

var le = binary.LittleEndian

const maxFrame = 128 << 10 // bytes of one message of SMB

// send sends a message of SMB, and reads one.
func send(conn net.Conn, message []byte) ([]byte, error) {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(message)))
	if _, err := conn.Write(append(head, message...)); err != nil {
		return nil, err
	}
	return receive(conn)
}

// receive reads a message of SMB.
func receive(conn net.Conn) ([]byte, error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(conn, head); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head)
	if head[0] != 0 || n < 4 || n > maxFrame {
		return nil, errors.New("the answer is not one of SMB")
	}
	b := make([]byte, n)
	_, err := io.ReadFull(conn, b)
	return b, err
}
