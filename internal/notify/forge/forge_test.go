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
