package queue

import (
	"testing"

	"github.com/vedette-sec/vedette/internal/db/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }
