package asset

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// parting stands between what an index reads of a row: no column has an empty line, for
// what is one text has no line feed (line), and what is several has no empty one (joined).
const parting = "\n\n"

// indexed is what an index reads of a row, as one column: a driver takes longer for each of
// many columns than for all that is in them, and a list after a start waits for a million.
const indexed = "concat_ws('" + parting + `', no, rev, port, first_run, run, created_at, since, seen_at, is_missing, is_internal, status_code, content_length, endpoints,
	enumeration_id, host, title, service, webserver, domain, ip, cname, technologies, favicon, labels, tls, misconfiguration, screenshot)`

// parted is the row that indexed says.
func parted(text string) (r row, err error) {
	p := parts{rest: text}
	r.no, r.rev, r.port, r.firstRun, r.run = uint32(p.number()), p.number(), int(p.number()), p.number(), p.number()
	r.createdAt, r.since, r.seenAt, r.missing, r.internal = p.moment(), p.moment(), p.moment(), p.flag(), p.flag()
	r.status, r.length, r.endpoints = int(p.number()), p.number(), p.number()
	r.enumeration, r.host, r.title, r.service, r.webserver, r.domain = p.next(), p.next(), p.next(), p.next(), p.next(), p.next()
	r.ip, r.cname, r.technologies, r.favicon, r.labels, r.tls, r.misconfiguration = p.next(), p.next(), p.next(), p.next(), p.next(), p.next(), p.next()
	if r.screenshot = p.rest; p.wrong || strings.Contains(p.rest, parting) {
		return r, fmt.Errorf("asset %d: what stands in its row cannot be parted", r.no)
	}
	return r, nil
}

// parts takes a text apart.
type parts struct {
	rest  string
	wrong bool
}

func (p *parts) next() string {
	part, rest, found := strings.Cut(p.rest, parting)
	p.rest, p.wrong = rest, p.wrong || !found
	return part
}

func (p *parts) number() int64 {
	n, err := strconv.ParseInt(p.next(), 10, 64)
	p.wrong = p.wrong || err != nil
	return n
}

func (p *parts) moment() db.Time { return db.Time{Time: time.UnixMicro(p.number()).UTC()} }

// flag is a boolean as either engine writes it.
func (p *parts) flag() bool {
	text := p.next()
	return text == "1" || text == "t"
}
