// Package paper writes a statement of credits as a PDF, with what draws reports.
package paper

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/vedette-sec/vedette/internal/core/billing"
	"github.com/vedette-sec/vedette/internal/core/export/report"
	"github.com/vedette-sec/vedette/internal/core/export/report/pdf"
)

// maxRows is how many rows of a table are drawn; JSON and CSV have all.
const maxRows = 200

var titles = map[billing.By]string{
	billing.ByProject: "Used by projects", billing.ByMember: "Used by members", billing.ByModel: "Used by models",
	billing.ByTask: "Used by tasks",
}

// Write writes a statement as a PDF.
func Write(ctx context.Context, w io.Writer, st billing.Statement) error {
	return pdf.Write(ctx, w, document(st))
}

func document(st billing.Statement) report.Document {
	d := report.Document{
		Title: "Statement of credits", Subtitle: st.Team, At: st.WrittenAt,
		Cover: [][2]string{{"Team", st.Team}, {"From", day(st.From)}, {"Until", day(st.To)},
			{"Used", billing.Display(st.Total)}, {"Written", day(st.WrittenAt)}},
		Notice: "A credit is a US dollar. No tax and no payment is shown here.",
	}
	var granted [][]string
	for _, g := range st.Grants {
		expires := "never"
		if g.ExpiresAt != nil {
			expires = day(*g.ExpiresAt)
		}
		granted = append(granted, []string{day(g.CreatedAt), billing.Display(g.Micros), expires, g.Note})
	}
	d.Blocks = table("Granted", []string{"On", "Credits", "Expires", "Note"}, []float64{0.22, 0.16, 0.22, 0.4}, granted)
	for _, by := range billing.Splits() {
		var used [][]string
		for _, p := range st.Parts[by] {
			name := p.Name
			if name == "" {
				name = p.ID
			}
			if name == "" {
				name = "(none)"
			}
			used = append(used, []string{name, strconv.Itoa(p.Calls), billing.Display(p.Micros)})
		}
		d.Blocks = append(d.Blocks,
			table(titles[by], []string{"Name", "Calls", "Credits"}, []float64{0.64, 0.16, 0.2}, used)...)
	}
	return d
}

// table is a heading with a table, or with a word where there is nothing.
func table(title string, header []string, widths []float64, rows [][]string) []report.Block {
	out := []report.Block{{Kind: report.Heading, Text: title, Level: 2}}
	if len(rows) == 0 {
		return append(out, report.Block{Kind: report.Paragraph, Text: "None in this time."})
	}
	more := len(rows) - maxRows
	shown := rows[:min(len(rows), maxRows)]
	out = append(out, report.Block{Kind: report.Table, Header: header, Widths: widths, Rows: shown})
	if more > 0 {
		text := fmt.Sprintf("And %d more: the statement as JSON or CSV has them.", more)
		out = append(out, report.Block{Kind: report.Note, Text: text})
	}
	return out
}

func day(at time.Time) string { return at.UTC().Format("2006-01-02 15:04 UTC") }
