package kit

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// Row is a row of a CSV report.
type Row struct {
	Cells []string
	Line  int // where it begins, from 1

	columns map[string]int
}

// Get is the cell under the first of the names that the header has and whose cell is not empty. Names are compared
// without case, blanks and punctuation.
func (r Row) Get(names ...string) string {
	for _, name := range names {
		if at, ok := r.columns[column(name)]; ok && at < len(r.Cells) {
			if cell := strings.TrimSpace(r.Cells[at]); cell != "" {
				return cell
			}
		}
	}
	return ""
}

// Has says whether the header has a column.
func (r Row) Has(name string) bool {
	_, ok := r.columns[column(name)]
	return ok
}

// Record begins a record that stands where the row does.
func (r Row) Record() Record { return Record{Line: r.Line} }

// column is the name of a column as it is compared.
func column(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r > 0x7F && r != '\uFEFF':
			return r
		}
		return -1
	}, name)
}

// Table walks the rows behind the header, which is the first row that has all columns that are asked for; what stands
// before it goes to before, which may be nil. Rows without any text are passed over, rows with another number of
// cells than the header are given as they are.
func (in *Input) Table(wanted []string, before func(Row) error, do func(Row) error) error {
	var header map[string]int
	err := in.Rows(func(row Row) error {
		if header != nil {
			row.columns = header
			return do(row)
		}
		columns := map[string]int{}
		for i, cell := range row.Cells {
			if name := column(cell); name != "" {
				if _, twice := columns[name]; !twice {
					columns[name] = i
				}
			}
		}
		for _, name := range wanted {
			if _, ok := columns[column(name)]; !ok {
				if before != nil {
					return before(row)
				}
				return nil
			}
		}
		header = columns
		return nil
	})
	if err == nil && header == nil {
		return Malformed("The CSV has no header with the columns %s.", strings.Join(wanted, ", "))
	}
	return err
}

// Rows walks all rows of a CSV text. The separator is the one of comma, semicolon, tab and bar that is most frequent
// in the first row. Quotes within a cell that does not begin with one are text, as is a quote in a quoted cell that
// no separator follows. A row beyond MaxItem is rejected.
func (in *Input) Rows(do func(Row) error) error {
	r, err := in.reader()
	if err != nil {
		return err
	}
	c := &csvScan{r: r, line: 1, comma: separator(r)}
	for {
		row, over, err := c.row()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch {
		case over:
			err = in.out.Reject(row.Line, "", tooLong+"; is a quote not closed?")
		case strings.TrimSpace(strings.Join(row.Cells, "")) == "":
			continue
		default:
			err = do(row)
		}
		if err != nil {
			return err
		}
	}
}

func separator(r *bufio.Reader) byte {
	head, _ := r.Peek(4096)
	best, most := byte(','), 0
	first, _, _ := strings.Cut(string(head), "\n")
	for _, c := range []byte(",;\t|") {
		if n := strings.Count(first, string(c)); n > most {
			best, most = c, n
		}
	}
	return best
}

type csvScan struct {
	r     *bufio.Reader
	line  int
	comma byte
}

// row reads one row; of one that is too large nothing is kept.
func (c *csvScan) row() (row Row, over bool, err error) {
	row.Line = c.line
	var cell []byte
	quoted, began, size := false, false, 0
	for {
		b, err := c.r.ReadByte()
		if errors.Is(err, io.EOF) && (began || size > 0) {
			row.Cells = append(row.Cells, string(cell))
			return row, over, nil
		}
		if err != nil {
			return row, over, err
		}
		if size++; size > MaxItem {
			over, row.Cells, cell = true, nil, nil
		}
		if b == '\n' {
			c.line++
		}
		switch {
		case quoted && b == '"':
			ahead, _ := c.r.Peek(1)
			switch {
			case len(ahead) == 1 && ahead[0] == '"':
				_, _ = c.r.ReadByte()
				cell = append(cell, '"')
			case len(ahead) == 0 || ahead[0] == c.comma || ahead[0] == '\n' || ahead[0] == '\r':
				quoted = false
			default:
				cell = append(cell, '"')
			}
		case quoted:
			if !over {
				cell = append(cell, b)
			}
		case b == '"' && !began:
			quoted, began = true, true
		case b == c.comma:
			if !over {
				row.Cells = append(row.Cells, string(cell))
			}
			cell, began = cell[:0], false
			size += 16
		case b == '\n':
			row.Cells = append(row.Cells, strings.TrimSuffix(string(cell), "\r"))
			return row, over, nil
		default:
			began = true
			if !over {
				cell = append(cell, b)
			}
		}
	}
}
