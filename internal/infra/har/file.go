package har

import (
	"encoding/json"
	"io"
	"os"
	"sync"
)

// File is a HAR file to which entries are added. It is whole after each of them, also when the process dies. It is safe
// for any number of goroutines.
type File struct {
	mu    sync.Mutex
	f     *os.File
	end   int64 // where the next entry begins
	count int
}

// Create makes a file, which must not exist; only its owner may read it, as it has cookies and passwords.
func Create(path string) (*File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	out := &File{f: f, end: int64(len(Begin))}
	if _, err := io.WriteString(f, Begin+End); err != nil {
		return nil, err
	}
	return out, nil
}

// Add adds an entry.
func (f *File) Add(e Entry) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count > 0 {
		text = append([]byte(",\n"), text...)
	}
	if _, err := f.f.WriteAt(append(text, End...), f.end); err != nil {
		return err
	}
	f.end += int64(len(text))
	f.count++
	return nil
}

// Count is how many entries the file has.
func (f *File) Count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count
}

// Close closes the file.
func (f *File) Close() error { return f.f.Close() }
