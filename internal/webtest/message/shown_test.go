package message_test

import (
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/message"
)

func TestShown(t *testing.T) {
	for body, text := range map[string]string{
		`<p>a "b"</p>`:                               `<p>a "b"</p>`,
		`&lt;p class=&quot;b&quot;&gt;`:              `<p class="b">`,
		`{"text":"\u003cp class=\"b\"\u003e\na\/b"}`: "<p class=\"b\">\na/b",
	} {
		if !strings.Contains(message.Shown([]byte(body)), text) {
			t.Errorf("%s does not show %s", body, text)
		}
	}
}
