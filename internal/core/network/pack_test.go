package network

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"reflect"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/seal"
)

func packer(t testing.TB) *Events {
	t.Helper()
	box, err := seal.Open(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	return New(nil, nil, Sources{Box: box})
}

// TestPacking: what is unpacked is what was packed, whatever was packed before it or is packed at the same time.
func TestPacking(t *testing.T) {
	es := packer(t)
	noise := make([]byte, 200<<10)
	rand.Read(noise)
	documents := []document{
		{Request: []byte("GET / HTTP/1.1\r\n\r\n"), Response: bytes.Repeat([]byte("the same again "), 10_000)},
		{},
		{Request: []byte("GET /short HTTP/1.1\r\n\r\n"), Response: []byte("short")},
		{Response: noise},
	}
	var packing sync.WaitGroup
	for i := range 8 {
		packing.Go(func() {
			for n := range 3 * len(documents) {
				id, d := fmt.Sprintf("%d-%d", i, n), documents[(i+n)%len(documents)]
				sealed, err := es.pack(id, d)
				if err != nil {
					t.Error(err)
					continue
				}
				if got, err := es.unpack(id, sealed); err != nil || !reflect.DeepEqual(got, d) {
					t.Errorf("document %d was packed, and unpacked as another: %v", (i+n)%len(documents), err)
				}
			}
		})
	}
	packing.Wait()
}

// BenchmarkPack packs an exchange of an ordinary size.
func BenchmarkPack(b *testing.B) {
	es := packer(b)
	d := document{Request: []byte("GET / HTTP/1.1\r\nHost: shop.example\r\n\r\n"), Response: bytes.Repeat([]byte("<p>A page.</p>\n"), 200)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := es.pack("id", d); err != nil {
			b.Fatal(err)
		}
	}
}
