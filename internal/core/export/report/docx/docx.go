// Package docx draws a report as a Word document (Office Open XML, ISO/IEC 29500 Transitional): a ZIP file with the
// text, its styles and the logo. It has no macros, links or external parts, and no field but the number of the page.
// Every text passes through escape, which keeps what XML 1.0 allows and writes other characters as their code.
package docx

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/vedette-sec/vedette/internal/core/export/report"
)

//go:embed styles.xml
var styles string

const (
	contentTypes = xml.Header + `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
		`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
		`<Default Extension="xml" ContentType="application/xml"/><Default Extension="png" ContentType="image/png"/>` +
		`<Default Extension="jpeg" ContentType="image/jpeg"/>` +
		`<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/>` +
		`<Override PartName="/word/styles.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.styles+xml"/>` +
		`<Override PartName="/word/footer1.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.footer+xml"/>` +
		`<Override PartName="/docProps/core.xml" ContentType="application/vnd.openxmlformats-package.core-properties+xml"/></Types>`
	relations = xml.Header + `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">` +
		`<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/>` +
		`<Relationship Id="rId2" Type="http://schemas.openxmlformats.org/package/2006/relationships/metadata/core-properties" Target="docProps/core.xml"/></Relationships>`
	office  = `http://schemas.openxmlformats.org/officeDocument/2006/relationships`
	opening = xml.Header + `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:r="` + office +
		`" xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" ` +
		`xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture"><w:body>`
	closing = `<w:sectPr><w:footerReference w:type="default" r:id="rId2"/><w:pgSz w:w="11906" w:h="16838"/>` +
		`<w:pgMar w:top="1134" w:right="1134" w:bottom="1134" w:left="1134" w:header="567" w:footer="567" w:gutter="0"/></w:sectPr></w:body></w:document>`
)

// textWidth is the width between the margins, in twentieths of a point.
const textWidth = 11906 - 2*1134

// Write draws a document.
func Write(w io.Writer, d report.Document) error {
	z := zip.NewWriter(w)
	documentRelations := `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">` +
		`<Relationship Id="rId1" Type="` + office + `/styles" Target="styles.xml"/>` +
		`<Relationship Id="rId2" Type="` + office + `/footer" Target="footer1.xml"/>`
	var b body
	b.cover(d)
	for _, block := range d.Blocks {
		b.block(block)
	}
	parts := []struct{ name, text string }{
		{"[Content_Types].xml", contentTypes}, {"_rels/.rels", relations},
		{"docProps/core.xml", properties(d)}, {"word/styles.xml", styles}, {"word/footer1.xml", footer(d)},
		{"word/document.xml", opening + b.String() + closing},
	}
	if len(d.Logo) > 0 {
		name := "media/logo." + d.CoverPicture.Format
		documentRelations += `<Relationship Id="rId3" Type="` + office + `/image" Target="` + name + `"/>`
		parts = append(parts, struct{ name, text string }{"word/" + name, string(d.Logo)})
	}
	parts = append(parts, struct{ name, text string }{"word/_rels/document.xml.rels",
		xml.Header + documentRelations + "</Relationships>"})
	for _, part := range parts {
		file, err := z.CreateHeader(&zip.FileHeader{Name: part.name, Method: zip.Deflate, Modified: d.At})
		if err != nil {
			return fmt.Errorf("making a Word document: %w", err)
		}
		if _, err := io.WriteString(file, part.text); err != nil {
			return err
		}
	}
	return z.Close()
}

func properties(d report.Document) string {
	at := d.At.UTC().Format(time.RFC3339)
	return xml.Header + `<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" ` +
		`xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/" ` +
		`xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><dc:title>` + escape(
		d.Title+": "+d.Subtitle,
	) + `</dc:title><dc:creator>` +
		escape(
			d.Company,
		) + `</dc:creator><dcterms:created xsi:type="dcterms:W3CDTF">` + at + `</dcterms:created></cp:coreProperties>`
}

func footer(d report.Document) string {
	name := "Vedette"
	if d.Company != "" {
		name = d.Company
	}
	return xml.Header + `<w:ftr xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:p><w:pPr><w:pStyle w:val="Note"/>` +
		`<w:tabs><w:tab w:val="right" w:pos="` + strconv.Itoa(
		textWidth,
	) + `"/></w:tabs></w:pPr><w:r><w:t xml:space="preserve">` +
		escape(
			name+" · "+d.Subtitle,
		) + `</w:t></w:r><w:r><w:tab/></w:r><w:r><w:t xml:space="preserve">Page </w:t></w:r>` +
		`<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText xml:space="preserve"> PAGE </w:instrText></w:r>` +
		`<w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>1</w:t></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r></w:p></w:ftr>`
}

// escape is a text for XML.
func escape(text string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(text, "\ufffd") {
		if r != '\t' && r != '\n' && r != '\r' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) ||
			r == '\ufeff' ||
			r >= 0xfffe && r <= 0xffff {
			fmt.Fprintf(&b, `\u{%x}`, r)
		} else {
			b.WriteRune(r)
		}
	}
	var out bytes.Buffer
	_ = xml.EscapeText(&out, []byte(b.String())) // a buffer takes everything
	return out.String()
}
