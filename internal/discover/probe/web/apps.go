package web

import (
	"container/list"
	"crypto/sha256"
	"slices"
	"strings"
	"sync"

	wappalyzer "github.com/projectdiscovery/wappalyzergo"

	"github.com/vedette-sec/vedette/internal/discover"
)

// Fingerprints names technologies by what servers and pages show. Its zero value is ready;
// it takes many megabytes when first used, so keep one and share it.
type Fingerprints struct {
	once sync.Once
	apps *wappalyzer.Wappalyze
	err  error

	mu    sync.Mutex // guards known and order
	known map[[sha256.Size]byte]*list.Element
	order list.List // of *named, the latest first
}

const maxKnown = 512 // answers whose technologies are remembered

// named are the technologies of one answer.
type named struct {
	key     [sha256.Size]byte
	names   []string
	details map[string]discover.Technology
}

// Name gives the technologies of an answer, as Name or Name:version, ascending, and what
// is known of each by its name. Pages that many hosts serve alike are looked at once.
func (f *Fingerprints) Name(a *Answer) ([]string, map[string]discover.Technology, error) {
	f.once.Do(func() { f.apps, f.err = wappalyzer.New() })
	if f.err != nil {
		return nil, nil, f.err
	}
	body := a.Body[:min(len(a.Body), maxFingerprint)]
	headers := map[string][]string{}
	h := sha256.New()
	for _, field := range a.Fields[:min(len(a.Fields), keptFields)] {
		value := field.Value[:min(len(field.Value), keptFieldBytes)]
		headers[field.Name] = append(headers[field.Name], value)
		switch field.Name {
		case "date", "age", "etag", "last-modified", "expires", "x-request-id", "content-length": // say nothing of technologies
		default:
			h.Write([]byte(field.Name + ":" + value + "\n"))
		}
	}
	h.Write(body)
	key := [sha256.Size]byte(h.Sum(nil))
	if n := f.recall(key); n != nil {
		return slices.Clone(n.names), n.details, nil
	}
	n := &named{key: key, details: map[string]discover.Technology{}}
	for name, info := range f.apps.FingerprintWithInfo(headers, body) {
		n.names = append(n.names, name)
		product, version, _ := strings.Cut(name, ":")
		n.details[product] = discover.Technology{
			Description: info.Description, Website: info.Website, Icon: info.Icon,
			Categories: info.Categories, Version: Clean(version, 64),
		}
	}
	slices.Sort(n.names)
	f.remember(n)
	return slices.Clone(n.names), n.details, nil
}

func (f *Fingerprints) recall(key [sha256.Size]byte) *named {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.known[key]
	if e == nil {
		return nil
	}
	f.order.MoveToFront(e)
	return e.Value.(*named) //nolint:forcetypeassert // the list holds nothing else
}

func (f *Fingerprints) remember(n *named) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil {
		f.known = map[[sha256.Size]byte]*list.Element{}
	}
	if f.known[n.key] != nil {
		return
	}
	f.known[n.key] = f.order.PushFront(n)
	if f.order.Len() > maxKnown {
		oldest := f.order.Remove(f.order.Back()).(*named) //nolint:forcetypeassert // as above
		delete(f.known, oldest.key)
	}
}
