package network

import (
	"context"
	"encoding/json"
	"io"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/har"
)

// entryOf is an event for a HAR file; doc has its texts as they are shown.
func entryOf(d Detail, doc document) har.Entry {
	e := har.New(har.Exchange{
		At: d.SentAt, TookMS: d.DurationMS, IP: d.IP, Method: d.Method, URL: d.URL, Status: d.Status,
		Request: doc.Request, Response: doc.Response,
	})
	e.ID, e.Tool, e.Error, e.Cut = d.ID, d.Tool, d.Error, d.RequestCut || d.ResponseCut
	return e
}

// maxExported bounds the events of one file.
const maxExported = 50_000

const atOnce = 100

// HAR writes the events of a task or a scan as a HAR file, the oldest first; those of one that the caller does not
// see are none. Unmasked is as in Find. What may be refused is refused before the file begins.
func (es *Events) HAR(
	ctx context.Context, taskID, scanID string, unmasked bool,
) (write func(io.Writer) error, err error) {
	c, err := reader(ctx, unmasked)
	if err != nil {
		return nil, err
	}
	if (taskID == "") == (scanID == "") {
		return nil, errs.Field("task_id", "Send exactly one of task_id and scan_id.")
	}
	f := Filter{TaskID: taskID, ScanID: scanID}
	s, err := es.shower(ctx, c, unmasked)
	if err != nil {
		return nil, err
	}
	return func(out io.Writer) error {
		if _, err := io.WriteString(out, har.Begin); err != nil {
			return err
		}
		after := ""
		for n := 0; n < maxExported; {
			w := f.where(c)
			w.And("e.id > ?", after)
			found, err := db.Select(ctx, es.db, scanEvent, eventQuery+"e.sealed FROM network_event e"+w.String()+
				` ORDER BY e.id LIMIT ?`, append(w.Args, atOnce)...)
			if err != nil {
				return err
			}
			for _, e := range found {
				after = e.ID
				if err := es.writeEntry(out, e, s, n > 0); err != nil {
					return err
				}
				n++
			}
			if len(found) < atOnce {
				break
			}
		}
		_, err := io.WriteString(out, har.End)
		return err
	}, nil
}

func (es *Events) writeEntry(out io.Writer, e Event, s *shower, comma bool) error {
	d, doc, err := es.detail(e, s)
	if err != nil {
		return err
	}
	text, err := json.Marshal(entryOf(d, doc))
	if err != nil {
		return err
	}
	if comma {
		text = append([]byte(",\n"), text...)
	}
	_, err = out.Write(text)
	return err
}
