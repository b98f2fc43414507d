package traffic_test

import (
	"bytes"
	"slices"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/traffic"
	"pgregory.net/rapid"
)

// Everything that is added is handed over once and in order, or counted as dropped.
func TestQueueLosesNothingUncounted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var got []int
		var dropped int64
		q := traffic.NewQueue(func(batch []traffic.Exchange, lost int64) {
			for _, x := range batch {
				got = append(got, x.Status)
			}
			dropped += lost
		})
		sizes := rapid.SliceOfN(rapid.IntRange(0, traffic.MaxResponse), 0, 300).Draw(t, "sizes")
		for i, size := range sizes {
			q.Add(traffic.Exchange{Status: i, Response: make([]byte, size)})
		}
		q.Drop(3)
		q.Close()
		q.Add(traffic.Exchange{})
		if len(got)+int(dropped) != len(sizes)+3 || !slices.IsSorted(got) {
			t.Fatalf("of %d and 3 that were lost before, %d came and %d were dropped", len(sizes), len(got), dropped)
		}
	})
}

// A store that does not go on makes nobody wait, and what does not fit is counted.
func TestQueueIsBounded(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	came, dropped := 0, int64(0)
	q := traffic.NewQueue(func(batch []traffic.Exchange, lost int64) {
		once.Do(func() { close(begun); <-goOn })
		came, dropped = came+len(batch), dropped+lost
	})
	q.Add(traffic.Exchange{})
	<-begun
	const many = 5000
	for range many {
		q.Add(traffic.Exchange{})
	}
	close(goOn)
	q.Close()
	if came != 1+4096 || dropped != many-4096 {
		t.Errorf("%d came, %d were dropped", came, dropped)
	}
}

func TestMessage(t *testing.T) {
	for _, c := range []struct {
		head, body string
		most       int
		want       string
		cut        bool
	}{
		{"head", "body", 100, "headbody", false}, {"head", "body", 8, "headbody", false},
		{"head", "body", 6, "headbo", true}, {"head", "body", 2, "he", true}, {"", "", 0, "", false},
	} {
		head := []byte(c.head)
		got, cut := traffic.Message(head, []byte(c.body), c.most)
		if !bytes.Equal(got, []byte(c.want)) || cut != c.cut {
			t.Errorf("%q %q at most %d: %q %v", c.head, c.body, c.most, got, cut)
		}
	}
}
