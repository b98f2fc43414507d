package templates

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
)

// The index is one file of templates in binary form: a head that identifies the language and the build, then entries
// with a checksum, under the digest of the template's text. It can be deleted at any time; what is missing or damaged
// is read from the template again.

// edition changes when templates are read differently without a change in any struct.
const edition = "vedette index 3\n"

// key identifies the text, and the way of reading, of an entry; or a file whose digest is kept.
type key struct {
	digest [sha256.Size]byte
	mode   byte
}

// The bits of a key's mode.
const (
	modeLenient = 1 << iota
	modeJSON
	modeFile // of a file: its entry is the digest of the file's text
)

// index is a file of the index in memory.
type index struct {
	entries map[key][]byte // each as it is in the file, from its checksum on
}

// The parts of an entry: a checksum of all that follows, the length of the binary form, the key, the binary form.
const (
	sumSize   = 4
	lenSize   = 4
	keySize   = sha256.Size + 1
	entryHead = sumSize + lenSize + keySize
)

// usualEntry is about the size of an entry in bytes: half of them are of files.
const usualEntry = 900

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// head begins a file of this build's index.
func head() []byte {
	h := sha256.New()
	h.Write([]byte(edition))
	h.Write(layout[:])
	if info, ok := debug.ReadBuildInfo(); ok {
		h.Write([]byte(info.Main.Version + info.GoVersion))
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" || s.Key == "vcs.modified" {
				h.Write([]byte(s.Value))
			}
		}
	}
	return h.Sum([]byte(edition))
}

// readIndex reads an index. One that is missing or of another build is empty; one that was cut short has the entries
// before the cut.
func readIndex(path string) (*index, error) {
	x := &index{}
	data, err := os.ReadFile(path)
	x.entries = make(map[key][]byte, len(data)/usualEntry)
	if errors.Is(err, fs.ErrNotExist) {
		return x, nil
	}
	data, own := bytes.CutPrefix(data, head())
	for own && len(data) >= entryHead {
		size := uint64(entryHead) + uint64(binary.LittleEndian.Uint32(data[sumSize:]))
		if size > uint64(len(data)) {
			break
		}
		var k key
		copy(k.digest[:], data[sumSize+lenSize:])
		k.mode = data[entryHead-1]
		x.entries[k] = data[:size:size]
		data = data[size:]
	}
	return x, err
}

// get is the binary form of a template, if it is there undamaged.
func (x *index) get(k key) ([]byte, bool) {
	entry, ok := x.entries[k]
	if !ok || !intact(entry) {
		return nil, false
	}
	return entry[entryHead:], true
}

func intact(entry []byte) bool {
	return binary.LittleEndian.Uint32(entry) == crc32.Checksum(entry[sumSize:], castagnoli)
}

// newEntry makes an entry whose content encode appends.
func newEntry(k key, encode func([]byte) []byte) []byte {
	entry := make([]byte, sumSize+lenSize, 2*usualEntry)
	entry = append(append(entry, k.digest[:]...), k.mode)
	entry = encode(entry)
	binary.LittleEndian.PutUint32(entry[sumSize:], uint32(len(entry)-entryHead))
	binary.LittleEndian.PutUint32(entry, crc32.Checksum(entry[sumSize:], castagnoli))
	return entry
}

// write replaces the file atomically: with the entries that were used and made, and as many others of the old one as
// have room in their size.
func (x *index) write(path string, used map[key]bool, made map[key][]byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	out := bufio.NewWriter(file) // it remembers the first error
	_, _ = out.Write(head())
	size := 0
	for k, entry := range made {
		_, _ = out.Write(entry)
		used[k] = true
		size += len(entry)
	}
	var others [][]byte
	for k, entry := range x.entries {
		if _, replaced := made[k]; replaced || !intact(entry) {
			continue
		}
		if used[k] {
			_, _ = out.Write(entry)
			size += len(entry)
			continue
		}
		others = append(others, entry)
	}
	for _, entry := range others {
		if size -= len(entry); size < 0 {
			break
		}
		_, _ = out.Write(entry)
	}
	if err = errors.Join(out.Flush(), file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}
