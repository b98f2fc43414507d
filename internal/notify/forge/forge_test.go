package forge

import (
	"errors"
	"fmt"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/apiclient"
)

func TestGone(t *testing.T) {
	for status, want := range map[int]bool{404: true, 410: true, 403: false, 500: false, 0: false} {
		if Gone(fmt.Errorf("reading: %w", &apiclient.Error{Status: status})) != want {
			t.Error(status)
		}
	}
	if Gone(nil) || Gone(errors.New("404")) {
		t.Error("another error")
	}
}

func TestBlob(t *testing.T) {
	for _, c := range []struct {
		blob  Blob
		text  string
		whole bool
	}{
		{Blob{"base64", 2, "aG\nk=\n"}, "hi", true}, {Blob{"base64", 0, ""}, "", true}, {Blob{"none", 2_000_000, ""}, "", false},
		{Blob{"base64", 3, "aGk="}, "hi", false}, {Blob{"base64", 2, "?"}, "", false},
	} {
		if text, whole := c.blob.Text(); string(text) != c.text || whole != c.whole {
			t.Errorf("%+v: %q %v", c.blob, text, whole)
		}
	}
}
