package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// MaxFrame bounds the payload of a frame in bytes: an event with a request, a response and what was extracted from it.
const MaxFrame = 64 << 20

// ErrFrame is a frame longer than its reader takes.
var ErrFrame = errors.New("the frame is too long")

const headSize = 5 // four bytes of length, one of kind

// WriteFrame writes one message: the length of the payload, its kind, the payload.
func WriteFrame(w io.Writer, kind byte, payload []byte) error {
	if len(payload) > MaxFrame {
		return fmt.Errorf("%w: %d bytes", ErrFrame, len(payload))
	}
	frame := make([]byte, headSize, headSize+len(payload))
	binary.BigEndian.PutUint32(frame, uint32(len(payload)))
	frame[headSize-1] = kind
	_, err := w.Write(append(frame, payload...))
	return err
}

// ReadFrame reads what WriteFrame wrote. The error is io.EOF at the end, ErrFrame for a payload of more than MaxFrame.
func ReadFrame(r io.Reader) (kind byte, payload []byte, err error) {
	var head [headSize]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > MaxFrame {
		return 0, nil, fmt.Errorf("%w: %d bytes", ErrFrame, size)
	}
	payload = make([]byte, size)
	_, err = io.ReadFull(r, payload)
	return head[headSize-1], payload, err
}
