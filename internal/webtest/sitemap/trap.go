package sitemap

import (
	"net/http"
	"path"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// The bounds of a kind of page.
const (
	alike      = 5   // members in a row that gave nothing new, after which a shape is settled
	maxMembers = 200 // that are fetched of a shape, whatever they give
)

// shape is what is known of addresses of one shape.
type shape struct {
	skeletons map[string]bool
	members   int // fetched
	stale     int // in a row without anything new
	skipped   int
}

// fetched notes a member and whether it led to something of a new shape.
func (s *shape) fetched(skeleton string, news bool) {
	s.members++
	if s.skeletons[skeleton] && !news {
		s.stale++
		return
	}
	s.skeletons[skeleton] = true
	s.stale = 0
}

func (s *shape) settled() bool { return s.stale >= alike || s.members >= maxMembers }

func (s *shape) more() { s.skipped++ }

// repeats reports whether a segment of a path comes back more than twice, as in addresses that grow by themselves.
func repeats(p string) bool {
	seen := map[string]int{}
	for segment := range strings.SplitSeq(p, "/") {
		if segment == "" {
			continue
		}
		seen[segment]++
		if seen[segment] > 2 {
			return true
		}
	}
	return false
}

// media are the extensions of files without links.
const media = " .png .jpg .jpeg .gif .svg .ico .webp .avif .bmp .css .woff .woff2 .ttf .eot .otf .mp3 .mp4 .webm .avi .mov .pdf .zip .gz .tgz .rar .7z .iso .exe .dmg .doc .docx .xls .xlsx .ppt .pptx "

func isMedia(p string) bool {
	extension := strings.ToLower(path.Ext(p))
	return extension != "" && strings.Contains(media, " "+extension+" ")
}

func isStatic(r *message.Response) bool {
	kind := r.Type()
	for _, prefix := range []string{"image/", "font/", "audio/", "video/", "text/css"} {
		if strings.HasPrefix(kind, prefix) {
			return true
		}
	}
	return r.Status == http.StatusNotModified
}
