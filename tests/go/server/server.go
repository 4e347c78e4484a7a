// Package server runs the server under test in a process of its own.
//
// It can be stopped, killed and started again on the same data and the same
// port, while clients of the libraries under test go on.
package server

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Binary names the variable with the path of the program.
const Binary = "CREST_BINARY"

// Patience is how long a test waits for what is about to happen. Generous: build machines are busy.
const Patience = time.Minute

// Server is a running server.
type Server struct {
	t      testing.TB
	folder string
	flags  []string
	port   string

	mutex   sync.Mutex
	command *exec.Cmd
	log     *bytes.Buffer
}

// Start runs a server with these flags until the test ends.
func Start(t testing.TB, flags ...string) *Server {
	t.Helper()
	s := &Server{t: t, folder: t.TempDir(), flags: flags, port: "0"}
	s.start()
	t.Cleanup(func() { s.end(syscall.SIGKILL) })
	return s
}

// Restart ends the server in order and starts it again.
func (s *Server) Restart() {
	s.t.Helper()
	s.Stop()
	s.start()
}

// Stop ends the server in order.
func (s *Server) Stop() {
	s.t.Helper()
	if err := s.end(syscall.SIGTERM); err != nil {
		s.t.Fatalf("an orderly stop failed: %v\n%s", err, s.log)
	}
}

// Crash kills the server and starts it again.
func (s *Server) Crash() {
	s.t.Helper()
	s.end(syscall.SIGKILL)
	s.start()
}

// Resume starts a server that was stopped.
func (s *Server) Resume() {
	s.t.Helper()
	s.start()
}

// Config is how its administrator connects.
func (s *Server) Config() *rest.Config {
	s.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(s.folder, "data", "admin.kubeconfig"))
	if err != nil {
		s.t.Fatalf("the kubeconfig cannot be used: %v", err)
	}
	// The libraries hold themselves back otherwise, and tests would measure that.
	config.QPS, config.Burst = -1, 0
	return config
}

func (s *Server) start() {
	s.t.Helper()
	deadline := time.Now().Add(Patience)
	for {
		err := s.tryStart()
		if err == nil {
			return
		}
		// Somebody may hold the port for a moment: a connection that is made gets any free one.
		if time.Now().After(deadline) || !strings.Contains(err.Error(), "cannot listen") {
			s.t.Fatalf("the server does not start: %v", err)
		}
	}
}

func (s *Server) tryStart() error {
	program := os.Getenv(Binary)
	if program == "" {
		return fmt.Errorf("%s does not name the program", Binary)
	}
	arguments := append([]string{
		"serve", "--data-dir", filepath.Join(s.folder, "data"), "--secure-port", s.port,
	}, s.flags...)
	command := exec.Command(program, arguments...)
	log := new(bytes.Buffer)
	command.Stderr = log
	output, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	address, found := strings.CutPrefix(strings.TrimSpace(line), "Crest serves https://")
	if err != nil || !found {
		command.Process.Kill()
		command.Wait()
		return fmt.Errorf("it says %q: %s", line, log)
	}
	s.port = address[strings.LastIndex(address, ":")+1:]
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.command, s.log = command, log
	return nil
}

func (s *Server) end(signal syscall.Signal) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.command == nil {
		return nil
	}
	s.command.Process.Signal(signal)
	err := s.command.Wait()
	s.command = nil
	return err
}
