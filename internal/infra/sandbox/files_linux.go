package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// filesFile is the child's end of the way on which it gets open files: the second of cmd.ExtraFiles.
const filesFile = boardFile + 1

// maxFiles bounds the files of one message.
const maxFiles = 4

// way makes the way on which open files go to the child, and gives the child its end, which the caller closes after the
// start.
func (p *Process) way() (*os.File, error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	p.files = os.NewFile(uintptr(ends[0]), "files")
	theirs := os.NewFile(uintptr(ends[1]), "files")
	p.cmd.ExtraFiles = append(p.cmd.ExtraFiles, theirs)
	return theirs, nil
}

// SendFiles gives the child open files under a number, which it asks for with ReceiveFiles; ours can be closed then.
func (p *Process) SendFiles(number uint32, files ...*os.File) error {
	if p.files == nil || len(files) > maxFiles {
		return errors.ErrUnsupported
	}
	var open []int
	for _, file := range files {
		raw, err := file.SyscallConn()
		if err != nil {
			return err
		}
		if err := raw.Control(func(fd uintptr) { open = append(open, int(fd)) }); err != nil {
			return err
		}
	}
	// Not waited for: a child that takes none would hold us up.
	return unix.Sendmsg(int(p.files.Fd()), binary.BigEndian.AppendUint32(nil, number), unix.UnixRights(open...), nil,
		unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
}

// ReceiveFiles is called by a child after its parent has sent files under a number. What was sent before and was not
// asked for is closed.
func ReceiveFiles(number uint32) ([]*os.File, error) {
	for {
		var text [4]byte
		rights := make([]byte, unix.CmsgSpace(maxFiles*4))
		n, size, _, _, err := unix.Recvmsg(filesFile, text[:], rights, unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
		if err != nil {
			return nil, err
		}
		files, err := opened(rights[:size])
		if err != nil || n == len(text) && binary.BigEndian.Uint32(text[:]) == number {
			return files, err
		}
		for _, file := range files {
			_ = file.Close()
		}
	}
}

// opened are the files of a message.
func opened(rights []byte) (files []*os.File, err error) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return nil, err
	}
	for i := range messages {
		open, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			return nil, err
		}
		for _, fd := range open {
			if err := unix.SetNonblock(fd, true); err != nil { // so that reading ends when it is closed
				return nil, err
			}
			files = append(files, os.NewFile(uintptr(fd), fmt.Sprintf("sent %d", fd)))
		}
	}
	return files, nil
}
