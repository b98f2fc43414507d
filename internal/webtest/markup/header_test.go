package markup_test

import (
	"fmt"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/markup"
)

// A value that a script takes from its page is known, in each way in which scripts do so; no other is.
func TestFromPage(t *testing.T) {
	data := map[string]string{"data-patient": "20418", "data-account-id": "7", "reader": "51007"}
	for object, want := range map[string]string{
		` 'X-Patient': box.dataset.patient `:                                                 "map[X-Patient:20418]",
		`Accept: "text/html", "X-Account": document.body.dataset.accountId`:                  "map[X-Account:7]",
		`"X-Account": el.dataset["accountId"], "X-Patient": el.getAttribute('data-patient')`: "map[X-Account:7 X-Patient:20418]",
		`'X-Reader': document.querySelector('meta[name="reader"]').content`:                  "map[X-Reader:51007]",
		`'X-Patient': box.dataset.name, 'X-Other': patient`:                                  "map[]",
		`'X-Patient': "dataset.patient"`:                                                     "map[]",
	} {
		if got := fmt.Sprint(markup.FromPage(object, data)); got != want {
			t.Errorf("%s: %s, want %s", object, got, want)
		}
	}
}
