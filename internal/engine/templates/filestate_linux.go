package templates

import (
	"crypto/sha256"
	"encoding/binary"
	"path/filepath"
	"syscall"
	"time"
)

// fileKey is the key of a file in its present state, and when that was last changed.
func fileKey(path string) (k key, changed time.Time, ok bool) {
	path, err := filepath.Abs(path)
	var s syscall.Stat_t
	if err != nil || syscall.Stat(path, &s) != nil {
		return k, changed, false
	}
	b := make([]byte, 0, 256)
	for _, n := range [...]uint64{s.Dev, s.Ino, uint64(s.Size), uint64(s.Mtim.Nano()), uint64(s.Ctim.Nano())} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return key{digest: sha256.Sum256(append(b, path...)), mode: modeFile}, time.Unix(0, s.Ctim.Nano()), true
}
