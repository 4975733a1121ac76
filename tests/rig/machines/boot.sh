#!/bin/sh
# The first commands of a machine, in namespaces of its own: boot.sh NAME DIRECTORY FABRIC VISIBLE...
#
# The machine sees the whole disk, but its own /tmp, in which only the rig's DIRECTORY and the folders VISIBLE show through, its own
# /proc, and the names of the other machines. All this is in its mount namespace and goes with it. Started by hosts.py.
set -e
name=$1 directory=$2 fabric=$3
shift 3
hostname "$name"
mount --make-rprivate /
own=$directory/machines/$name
mkdir -p "$own/tmp" "$own/tmp-to-be"
chmod 1777 "$own/tmp"
cp "$fabric" "$own/tmp/init.new"
mv "$own/tmp/init.new" "$own/tmp/init"
mount --bind "$own/tmp" "$own/tmp-to-be"
for folder in "$directory" "$@"; do
    case $folder in
    /tmp/*)
        mkdir -p "$own/tmp/${folder#/tmp/}"
        mount --bind "$folder" "$own/tmp-to-be/${folder#/tmp/}"
        ;;
    esac
done
mount --rbind "$own/tmp-to-be" /tmp
mount --bind "$directory/names" /etc/hosts
mount --bind "$directory/nothing" /etc/resolv.conf
mount -t proc proc /proc
exec /tmp/init init
