package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// SaveFile writes a file under its name once it is complete and check accepts it; check gets the path of the part that
// was written beside it.
func SaveFile(name string, content io.Reader, check func(part string) error) error {
	part, err := os.CreateTemp(filepath.Dir(name), ".part-*")
	if err != nil {
		return err
	}
	defer os.Remove(part.Name())
	_, err = io.Copy(part, content)
	if err = errors.Join(err, part.Close()); err != nil {
		return fmt.Errorf("the file is not complete, and was removed: %w", err)
	}
	if err := check(part.Name()); err != nil {
		return err
	}
	return os.Rename(part.Name(), name)
}
