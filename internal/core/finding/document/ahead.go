package document

import (
	"iter"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// Ahead reads documents from the database on a goroutine of its own, while those before them are parsed, masked and
// encoded: each takes about half of an export's time. It reuses the documents, and is not safe for concurrent use.
type Ahead struct {
	ring [aheadRows + 2]Document // one more is being read, and one is with the caller
}

// aheadRows is how many rows wait at most. They may be large.
const aheadRows = 14

type item struct {
	document *Document
	err      error
}

// Documents are the documents of rows of Columns and the exchange, in order; an error is the last. A document is valid
// until the next one. When the loop ends, the rows are closed.
func (a *Ahead) Documents(rows iter.Seq2[db.Row, error]) iter.Seq2[*Document, error] {
	return func(yield func(*Document, error) bool) {
		waiting, stop := make(chan item, aheadRows), make(chan struct{})
		go a.read(rows, waiting, stop)
		defer func() {
			close(stop)
			for range waiting { // until it has let go of the connection
			}
		}()
		for one := range waiting {
			if one.err == nil {
				one.document.parse(one.document.eventJSON, one.document.exchangeJSON)
			}
			if !yield(one.document, one.err) || one.err != nil {
				return
			}
		}
	}
}

func (a *Ahead) read(rows iter.Seq2[db.Row, error], waiting chan<- item, stop <-chan struct{}) {
	defer close(waiting)
	i := 0
	for row, err := range rows {
		d := &a.ring[i%len(a.ring)]
		if err == nil {
			err = d.read(row)
		}
		select {
		case waiting <- item{d, err}:
			i++
		case <-stop:
			return
		}
	}
}
