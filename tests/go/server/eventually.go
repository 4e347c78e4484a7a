package server

import (
	"testing"
	"time"
)

// Eventually waits until a condition holds. The error of the last look says what is missing.
func Eventually(t testing.TB, what string, holds func() error) {
	t.Helper()
	deadline := time.Now().Add(Patience)
	for {
		err := holds()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
