package templates

import (
	"crypto/sha256"
	"time"
)

// A file that the system says is the one we read before is not read again: its text is
// the one whose digest the index keeps under what the system said. That is the file's
// path, device and number, its size, and when it was last written and changed; the last
// of these is the system's own and moves with every change of the file. Where a system
// does not tell it, files are always read.

// settled is how long a file must have been left alone before what the system says of it
// is believed: clocks of file systems are coarse, and two changes may look like one.
const settled = 2 * time.Second

// sight is what the system said of a file before it was read.
type sight struct {
	key     key
	changed time.Time
	told    bool // false: nothing
}

// look asks the system about a file. Where signatures count the text is wanted, and
// without an index nothing is known.
func (l *loader) look(path string) (s sight) {
	if l.Index != "" && len(l.signers) == 0 {
		s.key, s.changed, s.told = fileKey(path)
	}
	return s
}

// digestOf gives the digest of the text of a file that looks as it did when it was read.
func (l *loader) digestOf(s sight) (digest [sha256.Size]byte, known bool) {
	if !s.told {
		return digest, false
	}
	kept, known := l.known.get(s.key)
	if !known || copy(digest[:], kept) != len(kept) {
		return digest, false
	}
	l.use(s.key)
	return digest, true
}

// remember keeps the digest of the text that was read after a look at its file.
func (l *loader) remember(s sight, digest [sha256.Size]byte) {
	if !s.told || l.now().Sub(s.changed) < settled {
		return
	}
	entry := newEntry(s.key, func(b []byte) []byte { return append(b, digest[:]...) })
	l.mu.Lock()
	l.made[s.key] = entry
	l.mu.Unlock()
}

// use says that an entry of the index is still of use.
func (l *loader) use(k key) {
	l.mu.Lock()
	l.used[k] = true
	l.mu.Unlock()
}
