exec Xtigervnc :7 -rfbport 5900 -SecurityTypes None -geometry 64x48
