package backup

import (
	"archive/tar"
	"bufio"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"filippo.io/age"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// The files of an archive, in this order.
const (
	manifestName   = "manifest.json"
	databaseFolder = "database/"
	keyName        = "secret.key"
	endName        = "end.json" // after blobs/ and files/
)

// format is the version of the archive's layout; a program refuses those of newer ones.
const format = 1

// manifest says what an archive was made of.
type manifest struct {
	Format  int       `json:"format"`
	Version string    `json:"version"` // of the program
	Time    time.Time `json:"created_at"`
	Schema  db.Schema `json:"schema"`
	Queue   int       `json:"queue"` // newest migration of the queue's tables
}

// end is the last file: an archive without it, or with another sum, is not whole.
type end struct {
	Files int64  `json:"files"`
	Sum   string `json:"sha256"` // of the names and contents of all files before it
}

// The work of trying one passphrase, as the binary logarithm of scrypt's N: 128 MiB and about half a second. A file may
// not ask for more than the double.
const (
	workFactor    = 17
	maxWorkFactor = 18
)

// ErrPassphrase is the reason why a file is not decrypted.
var ErrPassphrase = errors.New("the passphrase is wrong")

// writer writes an archive: age of gzip of tar.
type writer struct {
	tar   *tar.Writer
	zip   *gzip.Writer
	age   io.WriteCloser
	buf   *bufio.Writer
	sum   hash.Hash
	files int64
	done  func(n int64) // gets the number of bytes of each file
}

func newWriter(w io.Writer, passphrase string, work int) (*writer, error) {
	recipient, err := age.NewScryptRecipient(passphrase)
	if err != nil {
		return nil, err
	}
	recipient.SetWorkFactor(cmp.Or(work, workFactor))
	a := &writer{buf: bufio.NewWriterSize(w, 1<<20), sum: sha256.New(), done: func(int64) {}}
	if a.age, err = age.Encrypt(a.buf, recipient); err != nil {
		return nil, err
	}
	if a.zip, err = gzip.NewWriterLevel(a.age, gzip.BestSpeed); err != nil {
		return nil, err
	}
	a.tar = tar.NewWriter(a.zip)
	return a, nil
}

// add begins a file; what is written to the result is its content, of exactly size bytes.
func (a *writer) add(name string, size int64) (io.Writer, error) {
	a.done(size)
	a.files++
	fmt.Fprintf(a.sum, "%s\n%d\n", name, size)
	err := a.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600})
	return io.MultiWriter(a.tar, a.sum), err
}

func (a *writer) addJSON(name string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w, err := a.add(name, int64(len(text)))
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

// close ends the archive with its sum.
func (a *writer) close() error {
	e := end{a.files, hex.EncodeToString(a.sum.Sum(nil))}
	err := a.addJSON(endName, e)
	for _, c := range []func() error{a.tar.Close, a.zip.Close, a.age.Close, a.buf.Flush} {
		if err == nil {
			err = c()
		}
	}
	return err
}

// reader reads an archive from its beginning to its end.
type reader struct {
	manifest manifest
	zip      *gzip.Reader
	tar      *tar.Reader
	sum      hash.Hash
	files    int64
	done     func(n int64)
}

func newReader(r io.Reader, passphrase string) (*reader, error) {
	identity, err := age.NewScryptIdentity(passphrase)
	if err != nil {
		return nil, err
	}
	identity.SetMaxWorkFactor(maxWorkFactor)
	plain, err := age.Decrypt(bufio.NewReaderSize(r, 1<<20), identity)
	if errors.As(err, new(*age.NoIdentityMatchError)) {
		return nil, ErrPassphrase
	} else if err != nil {
		return nil, fmt.Errorf("it is not a backup, or damaged: %w", err)
	}
	zip, err := gzip.NewReader(plain)
	if err != nil {
		return nil, damaged(err)
	}
	a := &reader{zip: zip, tar: tar.NewReader(zip), sum: sha256.New(), done: func(int64) {}}
	name, content, err := a.next()
	if err != nil {
		return nil, err
	}
	if name != manifestName {
		return nil, fmt.Errorf("it is not a backup: it begins with %.40q", name)
	}
	if err := json.NewDecoder(content).Decode(&a.manifest); err != nil {
		return nil, damaged(err)
	}
	if a.manifest.Format > format {
		return nil, fmt.Errorf("it has format %d, which this version does not know: it was made by a newer one, %.40q",
			a.manifest.Format, a.manifest.Version)
	}
	_, err = io.Copy(io.Discard, content)
	return a, err
}

// damaged is the error for what cannot be read, or is not whole.
func damaged(err error) error { return fmt.Errorf("it is damaged or not whole: %w", err) }

// next returns the next file. The content of the one before must have been read to its end. After the last file, it
// checks the sum and returns io.EOF; before that the end of the input is an error.
func (a *reader) next() (name string, content io.Reader, err error) {
	sum := hex.EncodeToString(a.sum.Sum(nil))
	h, err := a.tar.Next()
	if errors.Is(err, io.EOF) {
		err = errors.New("it has no end")
	}
	if err != nil {
		return "", nil, damaged(err)
	}
	if h.Name == endName {
		var e end
		if err := json.NewDecoder(a.tar).Decode(&e); err != nil {
			return "", nil, damaged(err)
		}
		if e.Files != a.files || e.Sum != sum {
			return "", nil, damaged(errors.New("its sum is wrong"))
		}
		if _, err := a.tar.Next(); !errors.Is(err, io.EOF) {
			return "", nil, damaged(errors.New("something follows its end"))
		}
		if _, err := io.Copy(io.Discard, a.zip); err != nil { // the end of the file, too
			return "", nil, damaged(err)
		}
		return "", nil, io.EOF
	}
	a.files++
	a.done(h.Size)
	fmt.Fprintf(a.sum, "%s\n%d\n", h.Name, h.Size)
	return h.Name, summed{a}, nil
}

// summed is the content of a file, which takes part in the sum.
type summed struct{ a *reader }

// Read implements io.Reader.
func (c summed) Read(p []byte) (int, error) {
	n, err := c.a.tar.Read(p)
	c.a.sum.Write(p[:n])
	if err != nil && !errors.Is(err, io.EOF) {
		err = damaged(err)
	}
	return n, err
}
