//go:build !linux

package update

import "errors"

// swap exchanges two folders in one step, which only Linux does.
func swap(_, _ string) error { return errors.ErrUnsupported }

// settle leaves it to the system when the set is on the disk.
func settle(string) error { return nil }
