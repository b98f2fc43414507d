package kit

import (
	"errors"
	"io"
	"strings"

	"golang.org/x/net/html"
)

// maxCells is how many cells of a table's row are kept.
const maxCells = 200

// HTMLTables calls do for each row of each table of a page that begins with a row of header cells; a row of a table
// within a cell belongs to that table alone. Cells are their text, without tags. Of a text larger than MaxItem nothing
// more is read.
func (in *Input) HTMLTables(do func(header, row []string, line int) error) error {
	r, err := in.reader()
	if err != nil {
		return err
	}
	tokens := html.NewTokenizer(r)
	tokens.SetMaxBuf(MaxItem)
	page := &htmlPage{do: do, line: 1}
	for {
		kind := tokens.Next()
		begins := page.line
		page.line += strings.Count(string(tokens.Raw()), "\n")
		switch kind {
		case html.ErrorToken:
			err := tokens.Err()
			switch {
			case errors.Is(err, html.ErrBufferExceeded):
				return Malformed("The page has a text larger than 8 MB in line %d.", begins)
			case !errors.Is(err, io.EOF):
				return err
			case !page.seen:
				return Malformed("The report is not HTML.")
			}
			return nil
		case html.TextToken:
			if len(page.open) > 0 {
				page.open[len(page.open)-1].text(string(tokens.Text()))
			}
		case html.StartTagToken, html.EndTagToken:
			name, _ := tokens.TagName()
			if err := page.tag(string(name), kind == html.StartTagToken, begins); err != nil {
				return err
			}
		}
	}
}

// htmlPage is a page that is being read, with the tables that are open.
type htmlPage struct {
	do   func(header, row []string, line int) error
	open []*htmlTable
	line int
	seen bool
}

func (p *htmlPage) tag(name string, starts bool, line int) error {
	p.seen = true
	switch {
	case name == "table" && starts:
		if len(p.open) == maxTables {
			return Malformed("The tables of line %d nest too deeply.", line)
		}
		p.open = append(p.open, &htmlTable{})
		return nil
	case len(p.open) == 0:
		return nil
	}
	t := p.open[len(p.open)-1]
	if name == "table" {
		p.open = p.open[:len(p.open)-1]
		return t.end(p.do)
	}
	return t.tag(name, starts, line, p.do)
}

const maxTables = 50

// htmlTable is a table that is open.
type htmlTable struct {
	header, row []string
	cell        strings.Builder
	inCell, th  bool
	line        int
}

func (t *htmlTable) text(s string) {
	if t.inCell && t.cell.Len() < maxText {
		t.cell.WriteString(s)
	}
}

func (t *htmlTable) tag(name string, starts bool, line int, do func(header, row []string, line int) error) error {
	switch name {
	case "td", "th":
		t.endCell()
		if starts {
			t.inCell = true
			t.th = name == "th"
		}
	case "tr":
		if err := t.end(do); err != nil {
			return err
		}
		t.line = line
	case "br", "p", "li", "div":
		t.text("\n")
	}
	return nil
}

func (t *htmlTable) endCell() {
	if t.inCell && len(t.row) < maxCells {
		t.row = append(t.row, strings.TrimSpace(t.cell.String()))
	}
	t.inCell = false
	t.cell.Reset()
}

// end ends a row: the first one of header cells is the header.
func (t *htmlTable) end(do func(header, row []string, line int) error) error {
	t.endCell()
	row := t.row
	t.row = nil
	switch {
	case len(row) == 0:
		return nil
	case t.th || t.header == nil:
		if t.header == nil && t.th {
			t.header = row
		}
		return nil
	}
	return do(t.header, row, t.line)
}
