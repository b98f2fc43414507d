//go:build !linux

package sandbox

import (
	"errors"
	"os"
	"syscall"

	"github.com/vedette-sec/vedette/internal/infra/membudget"
)

func self() (string, error) { return os.Executable() }

func attributes() *syscall.SysProcAttr { return nil }

func kill(p *os.Process) { _ = p.Kill() }

func (p *Process) share(int) (*os.File, error) { return nil, nil }

func unmap([]byte) error { return nil }

// Usage is known on Linux only.
func (p *Process) Usage() (Usage, error) { return Usage{}, errors.ErrUnsupported }

// Enter sets the soft limit of Go's heap; there is no board.
func Enter(memory int64, _ int) ([]byte, error) {
	membudget.Limit(memory)
	return nil, nil
}

func (p *Process) way() (*os.File, error) { return nil, errors.ErrUnsupported }

// SendFiles is for Linux only.
func (p *Process) SendFiles(uint32, ...*os.File) error { return errors.ErrUnsupported }

// ReceiveFiles is for Linux only.
func ReceiveFiles(uint32) ([]*os.File, error) { return nil, errors.ErrUnsupported }
