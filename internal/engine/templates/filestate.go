package templates

import (
	"crypto/sha256"
	"time"
)

// A file that was not changed since it was read is not read again: the index keeps the digest of its text under its
// path, device, inode, size, and the times of its last write and of its last change of any kind, which the system
// alone sets. Without this, a scan of one host with 3,000 templates takes a tenth more processor time
// (docs/contribute/performance.md). Linux only: elsewhere every file is read.

// minAge is how long ago a file must have been changed for its state to count: clocks of file systems are coarse.
const minAge = 2 * time.Second

// fileState is the state of a file before it was read.
type fileState struct {
	key     key
	changed time.Time
	ok      bool // false: the system was not asked, or said nothing
}

// stat reads the state of a file, if there is an index and no signature that needs the text.
func (l *loader) stat(path string) (s fileState) {
	if l.Index != "" && len(l.signers) == 0 {
		s.key, s.changed, s.ok = fileKey(path)
	}
	return s
}

// digestOf is the digest of a file that was not changed since it was read.
func (l *loader) digestOf(s fileState) (digest [sha256.Size]byte, known bool) {
	if !s.ok {
		return digest, false
	}
	kept, known := l.known.get(s.key)
	if !known || copy(digest[:], kept) != len(kept) {
		return digest, false
	}
	l.use(s.key)
	return digest, true
}

// remember keeps the digest of a text with the state of its file.
func (l *loader) remember(s fileState, digest [sha256.Size]byte) {
	if !s.ok || l.now().Sub(s.changed) < minAge {
		return
	}
	entry := newEntry(s.key, func(b []byte) []byte { return append(b, digest[:]...) })
	l.mu.Lock()
	l.newEntries[s.key] = entry
	l.mu.Unlock()
}

// use marks an entry as used, so that it stays in the index.
func (l *loader) use(k key) {
	l.mu.Lock()
	l.usedEntries[k] = true
	l.mu.Unlock()
}
