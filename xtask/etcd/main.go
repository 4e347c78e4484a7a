// The newest etcd, as a program of its own module: the server's module replaces its
// dependencies, which `go install` refuses. go.sum pins every line of source it is built from.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
