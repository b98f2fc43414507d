printf secret | vncpasswd -f >$D/pw
exec Xtigervnc :8 -rfbport 5901 -SecurityTypes VncAuth -PasswordFile $D/pw -geometry 64x48
